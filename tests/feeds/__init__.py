"""Sources beside files and APIs: journals, SFTP servers, queues."""
