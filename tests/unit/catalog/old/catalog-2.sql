BEGIN TRANSACTION;
CREATE TABLE accounts (
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
    origin TEXT NOT NULL,
    generation INTEGER NOT NULL,
    read INTEGER NOT NULL CHECK (read >= 0),
    kept INTEGER NOT NULL CHECK (kept >= 0),
    filtered INTEGER NOT NULL CHECK (filtered >= 0),
    rejected INTEGER NOT NULL CHECK (rejected >= 0),
    out_of_window INTEGER NOT NULL CHECK (out_of_window >= 0),
    duplicate INTEGER NOT NULL CHECK (duplicate >= 0),
    superseded_by INTEGER REFERENCES transactions (id),
    PRIMARY KEY (transaction_id, origin, generation),
    CONSTRAINT balance CHECK (read = kept + filtered + rejected + out_of_window + duplicate)
) STRICT, WITHOUT ROWID;
INSERT INTO "accounts" VALUES(1,'/tmp/old/logs/2024-06-01.jsonl',0,1,1,0,0,0,0,NULL);
INSERT INTO "accounts" VALUES(4,'/tmp/old/logs/2024-03-05.jsonl',0,1,1,0,0,0,0,NULL);
INSERT INTO "accounts" VALUES(6,'/tmp/old/logs/2024-03-05.jsonl',0,1,1,0,0,0,0,NULL);
INSERT INTO "accounts" VALUES(7,'/tmp/old/logs/2024-06-20.jsonl',0,1,1,0,0,0,0,NULL);
CREATE TABLE artifacts (
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    origin TEXT NOT NULL,
    generation INTEGER NOT NULL CHECK (generation >= 0),
    uri TEXT,
    source TEXT NOT NULL,
    unit TEXT NOT NULL,
    kind TEXT NOT NULL,
    as_of TEXT NOT NULL,
    size INTEGER,
    modified TEXT,
    etag TEXT,
    fingerprint TEXT,
    head TEXT,
    committed_bytes INTEGER NOT NULL CHECK (committed_bytes >= 0),
    committed_ordinals INTEGER NOT NULL CHECK (committed_ordinals >= 0),
    unread_bytes INTEGER NOT NULL CHECK (unread_bytes >= 0),
    taken TEXT NOT NULL, -- sets of days: 2024-01-01..2024-01-31, 2024-02-02
    left_out TEXT NOT NULL,
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
    PRIMARY KEY (partition_id, origin, generation),
    UNIQUE (partition_id, uri)
) STRICT, WITHOUT ROWID;
INSERT INTO "artifacts" VALUES(1,'/tmp/old/logs/2024-03-05.jsonl',0,'/tmp/old/logs/2024-03-05.jsonl','file','2024-03-05','file','2024-06-22T12:04:00+00:00',61,'2026-11-16T16:17:22.818645+00:00',NULL,'83c580086d7e1c48ccd57c4cfe15be7d','6e7121e743200da29577b7c59da37846',61,1,0,'0001-01-01..9999-12-31','',4);
INSERT INTO "artifacts" VALUES(1,'/tmp/old/logs/2024-06-01.jsonl',0,'/tmp/old/logs/2024-06-01.jsonl','file','2024-06-01','file','2024-06-18T12:00:00+00:00',61,'2026-11-16T16:17:22.818977+00:00',NULL,'16b44ad24486ff4c0087610392543924','6c558011af459a2616d032aa1539424d',61,1,0,'0001-01-01..9999-12-31','',1);
INSERT INTO "artifacts" VALUES(2,'/tmp/old/logs/2024-03-05.jsonl',0,'/tmp/old/logs/2024-03-05.jsonl','file','2024-03-05','file','2024-06-22T12:08:00+00:00',61,'2026-11-16T16:17:22.818645+00:00',NULL,'83c580086d7e1c48ccd57c4cfe15be7d','6e7121e743200da29577b7c59da37846',61,1,0,'0001-01-01..9999-12-31','',6);
INSERT INTO "artifacts" VALUES(3,'/tmp/old/logs/2024-06-20.jsonl',0,'/tmp/old/logs/2024-06-20.jsonl','file','2024-06-20','file','2024-06-22T12:10:00+00:00',61,'2026-11-16T16:17:22.819267+00:00',NULL,'23bc43e48241fc4a7cfa75f987da7c57','86e8f12c3031b1678ae393370afe7da8',61,1,0,'0001-01-01..9999-12-31','',7);
CREATE TABLE column_sets (
    id INTEGER PRIMARY KEY,
    columns TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "column_sets" VALUES(1,'{"message": "VARCHAR", "time": "VARCHAR", "tp_akas": "VARCHAR[]", "tp_date": "DATE", "tp_destination_ip": "VARCHAR", "tp_domains": "VARCHAR[]", "tp_emails": "VARCHAR[]", "tp_id": "VARCHAR", "tp_index": "VARCHAR", "tp_ingest_timestamp": "TIMESTAMP", "tp_ips": "VARCHAR[]", "tp_partition": "VARCHAR", "tp_source_ip": "VARCHAR", "tp_source_location": "VARCHAR", "tp_source_name": "VARCHAR", "tp_source_type": "VARCHAR", "tp_table": "VARCHAR", "tp_tags": "VARCHAR[]", "tp_timestamp": "TIMESTAMP", "tp_usernames": "VARCHAR[]"}');
CREATE TABLE coverage (
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    source TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('covered', 'missing', 'dropped', 'unsettled')),
    days TEXT NOT NULL,
    PRIMARY KEY (partition_id, source, state)
) STRICT, WITHOUT ROWID;
INSERT INTO "coverage" VALUES(1,'file','covered','2024-03-05, 2024-05-19..2024-06-19, 2024-06-22');
INSERT INTO "coverage" VALUES(1,'file','dropped','');
INSERT INTO "coverage" VALUES(1,'file','missing','');
INSERT INTO "coverage" VALUES(1,'file','unsettled','2024-06-17..2024-06-19, 2024-06-22');
INSERT INTO "coverage" VALUES(2,'file','covered','2024-03-05');
INSERT INTO "coverage" VALUES(2,'file','dropped','');
INSERT INTO "coverage" VALUES(2,'file','missing','');
INSERT INTO "coverage" VALUES(2,'file','unsettled','');
INSERT INTO "coverage" VALUES(3,'file','covered','2024-06-15..2024-06-22');
INSERT INTO "coverage" VALUES(3,'file','dropped','');
INSERT INTO "coverage" VALUES(3,'file','missing','');
INSERT INTO "coverage" VALUES(3,'file','unsettled','2024-06-20..2024-06-22');
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
    unit TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('data', 'rejected')),
    tp_index TEXT,
    tp_date TEXT,
    rows INTEGER NOT NULL CHECK (rows >= 0),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    sha256 TEXT NOT NULL,
    min_timestamp INTEGER, -- microseconds since 1970
    max_timestamp INTEGER,
    columns_id INTEGER NOT NULL REFERENCES column_sets (id),
    state TEXT NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'retired')),
    retired_by INTEGER REFERENCES transactions (id),
    retired_at TEXT,
    CHECK ((state = 'retired') = (retired_by IS NOT NULL)),
    CHECK (role = 'rejected' OR tp_date IS NOT NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO "files" VALUES('files/tp_table=app/tp_partition=x/tp_index=default/tp_date=2024-03-05/00000004-8c6cf6a0-0000',1,4,'2024-03-05','data','default','2024-03-05',1,3317,'3ec5171a2170a3b9835b1ad642d337743b5acb396421d63a92bcca9b79631c13',1709632800000000,1709632800000000,1,'live',NULL,NULL);
INSERT INTO "files" VALUES('files/tp_table=app/tp_partition=x/tp_index=default/tp_date=2024-06-01/00000001-611e1368-0000',1,1,'2024-06-01','data','default','2024-06-01',1,3317,'e240823b43b82b0e67d5177aa45993e35fdb902e01982096153eb9c7f9c4708b',1717236000000000,1717236000000000,1,'live',NULL,NULL);
INSERT INTO "files" VALUES('files/tp_table=app/tp_partition=y/tp_index=default/tp_date=2024-03-05/00000006-d04e9082-0000',2,6,'2024-03-05','data','default','2024-03-05',1,3317,'7871a19e81b89ec0b379a6e65254be0af832f6653ebc4c37555b90062f09adf3',1709632800000000,1709632800000000,1,'live',NULL,NULL);
INSERT INTO "files" VALUES('files/tp_table=app/tp_partition=z/tp_index=default/tp_date=2024-06-20/00000007-3c056ae4-0000',3,7,'2024-06-20','data','default','2024-06-20',1,3317,'bd09da2abee780de1202a5af44e5d6e62160e21dd5b8cd3795c092d489c8da63',1718877600000000,1718877600000000,1,'live',NULL,NULL);
CREATE TABLE losses (
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    unit TEXT NOT NULL,
    tp_date TEXT NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN ('dropped', 'missing')),
    PRIMARY KEY (partition_id, unit, tp_date)
) STRICT, WITHOUT ROWID;
CREATE TABLE partitions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "partitions" VALUES(1,'app.x',4);
INSERT INTO "partitions" VALUES(2,'app.y',1);
INSERT INTO "partitions" VALUES(3,'app.z',1);
CREATE TABLE rejected_samples (
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
    number INTEGER NOT NULL,
    uri TEXT NOT NULL,
    position TEXT NOT NULL,
    reason TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (transaction_id, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    window_start TEXT NOT NULL,
    window_end TEXT NOT NULL,
    command TEXT NOT NULL,
    begun_at TEXT NOT NULL,
    ended_at TEXT,
    outcome TEXT NOT NULL DEFAULT 'running' CHECK (outcome IN ('running', 'done', 'failed', 'interrupted'))
) STRICT;
INSERT INTO "runs" VALUES(1,1,'2024-05-19T12:00:00+00:00','2024-06-18T12:00:00+00:00','tailpipe collect app.x','2024-06-18T12:00:00+00:00','2024-06-18T12:00:00+00:00','done');
INSERT INTO "runs" VALUES(2,1,'2024-05-20T12:02:00+00:00','2024-06-19T12:02:00+00:00','tailpipe collect app.x','2024-06-19T12:02:00+00:00','2024-06-19T12:02:00+00:00','done');
INSERT INTO "runs" VALUES(3,1,'2024-03-05T00:00:00+00:00','2024-03-06T00:00:00+00:00','tailpipe collect app.x --from 2024-03-05 --to 2024-03-05','2024-06-22T12:04:00+00:00','2024-06-22T12:04:00+00:00','done');
INSERT INTO "runs" VALUES(4,1,'2024-06-22T00:00:00+00:00','2024-06-23T00:00:00+00:00','tailpipe collect app.x --from 2024-06-22 --to 2024-06-22','2024-06-22T12:06:00+00:00','2024-06-22T12:06:00+00:00','done');
INSERT INTO "runs" VALUES(5,2,'2024-03-05T00:00:00+00:00','2024-03-06T00:00:00+00:00','tailpipe collect app.y --from 2024-03-05 --to=2024-03-05','2024-06-22T12:08:00+00:00','2024-06-22T12:08:00+00:00','done');
INSERT INTO "runs" VALUES(6,3,'2024-06-15T00:00:00+00:00','2024-06-22T12:10:00+00:00','tailpipe collect app.z --from 2024-06-15','2024-06-22T12:10:00+00:00','2024-06-22T12:10:00+00:00','done');
CREATE TABLE transactions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    kind TEXT NOT NULL CHECK (kind IN ('append', 'replace', 'rewrite', 'note', 'delete', 'repair')),
    unit TEXT,
    state TEXT NOT NULL CHECK (state IN ('intent', 'committed', 'published', 'aborted')),
    epoch INTEGER NOT NULL,
    run_id INTEGER REFERENCES runs (id),
    begun_at TEXT NOT NULL,
    committed_at TEXT,
    sequence INTEGER UNIQUE,
    record TEXT, -- the manifest, until it has been published
    CHECK ((sequence IS NOT NULL) = (state IN ('committed', 'published')))
) STRICT;
INSERT INTO "transactions" VALUES(1,'00000001-611e1368',1,'append','2024-06-01','published',1,1,'2024-06-18T12:00:00+00:00','2024-06-18T12:00:00+00:00',1,NULL);
INSERT INTO "transactions" VALUES(2,'00000002-eb56549d',1,'note',NULL,'published',1,1,'2024-06-18T12:00:00+00:00','2024-06-18T12:00:00+00:00',2,NULL);
INSERT INTO "transactions" VALUES(3,'00000003-78559145',1,'note',NULL,'published',2,2,'2024-06-19T12:02:00+00:00','2024-06-19T12:02:00+00:00',3,NULL);
INSERT INTO "transactions" VALUES(4,'00000004-8c6cf6a0',1,'append','2024-03-05','published',3,3,'2024-06-22T12:04:00+00:00','2024-06-22T12:04:00+00:00',4,NULL);
INSERT INTO "transactions" VALUES(5,'00000005-a72afa82',1,'note',NULL,'published',4,4,'2024-06-22T12:06:00+00:00','2024-06-22T12:06:00+00:00',5,NULL);
INSERT INTO "transactions" VALUES(6,'00000006-d04e9082',2,'append','2024-03-05','published',1,5,'2024-06-22T12:08:00+00:00','2024-06-22T12:08:00+00:00',6,NULL);
INSERT INTO "transactions" VALUES(7,'00000007-3c056ae4',3,'append','2024-06-20','published',1,6,'2024-06-22T12:10:00+00:00','2024-06-22T12:10:00+00:00',7,NULL);
INSERT INTO "transactions" VALUES(8,'00000008-bc61a725',3,'note',NULL,'published',1,6,'2024-06-22T12:10:00+00:00','2024-06-22T12:10:00+00:00',8,NULL);
CREATE INDEX transactions_open ON transactions (partition_id, state) WHERE state IN ('intent', 'committed');
CREATE INDEX files_of_partition ON files (partition_id, state, tp_date);
CREATE INDEX files_of_unit ON files (partition_id, unit) WHERE state = 'live';
CREATE INDEX files_retired ON files (retired_by) WHERE state = 'retired';
CREATE INDEX artifacts_of_unit ON artifacts (partition_id, unit);
CREATE INDEX transactions_of_unit ON transactions (partition_id, unit);
CREATE INDEX runs_of_partition ON runs (partition_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('transactions',8);
COMMIT;
