"""Config text as it may be shown: every value that is, or may be, a secret becomes dots.

Mistakes are shown with their line, and a mistake may be next to a secret: then the parser does not know what is a
value, and of which argument. So this scanner never trusts the syntax. A value is shown only if it clearly belongs to a
known argument that is no secret; all others are dots. Every character keeps its column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from tailpipe.config.former import former_argument
from tailpipe.config.functions import FUNCTIONS
from tailpipe.config.syntax import Span
from tailpipe.config.vocabulary import Vocabulary
from tailpipe.frozen import frozen
from tailpipe.model.nearest import nearest
from tailpipe.model.redaction import SECRET_WORDS, looks_secret, secret_spans

_TOKEN = re.compile(
    r"""(?P<line>\n)|(?P<blank>[^\S\n]++)"""
    r"""|(?P<comment>\#[^\n]*+|//[^\n]*+|/\*(?s:.*?)(?:\*/|\Z))"""
    r"""|(?P<heredoc><<-?[ \t]*\W?(?P<end>[^\W\d]\w*+)[^\n]*+)"""
    r"""|(?P<quote>"(?:\$\{(?:[^{}"\n]|"[^"\n]*+")*+\}|\\.|[^"\\\n])*+"?|`[^`]*+`?)"""
    r"""|(?P<word>[^\W\d][\w-]*+)"""
    r"""|(?P<sign>[=!<>]=|.)"""
)
_FOLLOWS = re.compile(r"[ \t]*+(==|[^\n]|)")
_BARE = re.compile(r"[+/.%$&@!~^*'-]*+\w[\w+/.=%$&@!~^*'-]*+")
_KINDS = "connection|format|partition|queries|query|schema|table|workspace"
_NAMED = re.compile(rf"(?:{'|'.join(FUNCTIONS)})(?=\()|(?:{_KINDS})\.[\w.-]+")
_SAFE_ARGUMENT = re.compile(r"""(?:env\(\s*"[^\W\d]\w*"|file\(\s*"[^"\n]*")(?=\s*[,)])""")
_TOP = re.compile(rf"(?:{_KINDS})\b[^\n=]*\{{")
_CONSTANTS = frozenset({"true", "false", "null"})
_RUN = re.compile(r"[\w.+/=-]+")
_PART = re.compile(r"[\w.-]+")
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r'"([^"]*)"')
_CUT = 40
"""How much messages quote of a long word."""
_SHORTEST = 3
_GUESSES = 200
"""Of how many words the nearest name is looked for; further ones are unknown."""


@frozen
class Masked:
    """A text with dots in place of values, and the values that were hidden."""

    text: str
    whole: str = field(repr=False)
    spans: tuple[Span, ...]
    shown: frozenset[str]
    """Names and labels, which are no secrets even if one is spelt the same."""

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The words that are hidden."""
        return frozenset(_words(self.whole, self.spans)) - self.shown

    def message(self, words: str) -> str:
        """A message about the text, without what is hidden there."""
        quoted = _QUOTED.sub(lambda match: '"•••"' if match[1] in self.hidden else match[0], words)
        return _RUN.sub(lambda match: "•••" if self._is_telling(match[0]) else match[0], quoted)

    def _is_telling(self, run: str) -> bool:
        """Whether a word outside of quotes is a secret, and not just a word that a secret has too."""
        return len(run) >= 6 and not run.isalpha() and run in self.hidden


def mask(text: str, words: Vocabulary | None) -> Masked:
    """The text with dots; without a vocabulary only what looks like a secret by its name or its shape is hidden."""
    spans = [*_assigned(text, words.secrets if words else frozenset()), *secret_spans(text, named=False)]
    scanner = _Scanner(text, words or Vocabulary())
    if words is not None:
        scanner.scan()
        spans += scanner.hidden
    characters = list(text)
    for start, end in spans:
        characters[start:end] = re.sub(r"[^\n\r]", "•", text[start:end])
    return Masked("".join(characters), text, tuple(spans), frozenset(scanner.shown))


def _words(text: str, spans: Iterable[Span]) -> Iterable[str]:
    for start, end in spans:
        part = text[start:end]
        runs = (run for pattern in (_RUN, _PART, _WORD) for run in pattern.findall(part))
        for one in (part, *part.splitlines(), *runs):
            if _WORD.search(one):
                yield from (one, one[:_CUT])


# What is assigned to a name, wherever it stands: in comments, in text, behind a mistake


def _assigned(text: str, names: frozenset[str]) -> Iterable[Span]:
    for match in _assignment(names).finditer(text):
        start, end = match.span("value")
        opening = text[start]
        if opening == "[":
            words = re.finditer(r'[^\s",`\[\]]+', match["value"])
            yield from ((start + one.start(), start + one.end()) for one in words)
        elif opening in ('"', "`"):
            yield start + 1, end - (end - start > 1 and text[end - 1] == opening)
        else:
            yield start, end


@lru_cache(maxsize=8)
def _assignment(names: frozenset[str]) -> re.Pattern[str]:
    # The counts are bounded so that no line, however long, takes more than one pass.
    exact = [rf"(?<![\w-]){re.escape(name)}(?=[\s\"=:])" for name in sorted(names)]
    either = "|".join([*exact, *(rf"{word}[\w-]{{0,64}}" for word in SECRET_WORDS)])
    # Quoted, closed or not; raw; a list; or bare, but for a constant, a reference and a call such as env("…").
    value = (
        r'"(?:[^"\\\n]|\\.)*"?'
        r"|`[^`]*`?"
        r"|\[[^\]\n]*\]?"
        rf"|(?!(?:true|false|null)\b|(?:{_KINDS})\.)[\w+/-][\w+/.=-]*(?![\w+/.=(-])"
    )
    return re.compile(rf'(?:{either})"?[^\S\n]{{0,64}}[=:][^\S\n]{{0,64}}(?P<value>{value})', re.IGNORECASE)


# What stands in the place of a value that may be a secret


@dataclass
class _Scanner:
    """Goes over the tokens; `is_hot` while what comes may be a secret, which it may until a plain name is met."""

    text: str
    words: Vocabulary
    hidden: list[Span] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)
    """Names and labels, which are no secrets even if one is spelt the same."""
    is_hot: bool = True
    is_stuck: bool = False
    """Whether a secret was named and its value is not where it should be: all is hot to the end of the block."""
    in_header: bool = False
    named: str = ""
    """The argument that was named last, while its value has not begun."""
    has_value: bool = False
    """Whether the argument has its value, so that it ends with the line."""
    before: str = "\n"
    """The last sign, or `x` for a word or a text; a new line if nothing stands before on this one."""
    open: list[tuple[str, bool]] = field(default_factory=list)
    """The brackets of a value, and whether it was hot before each."""
    depths: Counter[str] = field(default_factory=Counter)
    guesses: dict[str, str | None] = field(default_factory=dict)

    def scan(self) -> None:
        position = 0
        while match := _TOKEN.match(self.text, position):
            position = match.end()
            if match.lastgroup != "blank":
                position = getattr(self, f"_{match.lastgroup}")(match)

    # One method for each kind of token; it gives the end of what it has read

    def _line(self, match: re.Match[str]) -> int:
        self.before = "\n"
        if not self.open:
            self.is_stuck = self.is_stuck or self._is_secret(self.named)
            if self.has_value or self.in_header:
                self.is_hot, self.in_header = True, False
        return match.end()

    def _comment(self, match: re.Match[str]) -> int:
        # Perhaps it was opened by mistake, or holds lines that were taken out of the config.
        is_all = self.is_hot and self.before != "\n"
        for line in re.finditer(r"[^\n]+", match[0]):
            if is_all or re.search(r'["`=]', line[0]):
                self._hide(match.start() + max(1, line.start()), match.start() + line.end())
        return match.end()

    def _heredoc(self, match: re.Match[str]) -> int:
        end = re.compile(rf"^[ \t]*{match['end']}[ \t\r]*$", re.MULTILINE).search(self.text, match.end())
        last = end.start() if end else len(self.text)
        is_clean = end and re.fullmatch(r"<<-?\w+[ \t\r]*", match[0])
        is_opening = re.fullmatch(r"<<-?[ \t]*\W?\w+\W?[ \t\r]*", match[0])
        if self.is_hot or not is_clean:
            self._hide(match.end() if is_clean or (is_opening and not self.is_hot) else match.start() + 2, last)
            self.is_hot = True
        self._value("<")
        return end.end() if end else last

    def _quote(self, match: re.Match[str]) -> int:
        start, end = match.span()
        is_closed = end - start > 1 and match[0][-1] == match[0][0]
        inner = match[0][1 : -1 if is_closed else None]
        follows = self._follows(end)
        if self.before == "x" and self.has_value and not self.open:
            self.is_hot = True  # what comes behind a whole value belongs to no name
        was_hot, is_key = self.is_hot, follows in ("=", ":") and self.before in ("x\n{}," if self.open else "\n{},;")
        if not self.is_hot and self.open and self.before in "x\n{," and _PART.fullmatch(inner) and looks_secret(inner):
            is_key = True  # also without the = that should follow
        if is_key:
            self._name(inner, follows, is_quoted=True)
            was_hot = was_hot and not self._is_known(inner) and not looks_secret(inner)
        if was_hot or "\n" in inner:  # perhaps a stray backtick, which takes in whatever comes
            self._hide(start + 1, start + 1 + len(inner))
        elif self.in_header:
            self.shown.add(inner)
        if not is_key:
            self._value("x")
            self.is_stuck = self.is_stuck or (was_hot and not is_closed)
            self.is_hot = self.is_hot or "\n" in inner  # and its end may be where a secret begins
        self.before = "x"
        return end

    def _word(self, match: re.Match[str]) -> int:
        word, (start, end) = match[0], match.span()
        follows = self._follows(end)
        if self.before == "\n" and self.text[start - 1 : start] in ("", "\n") and _TOP.match(self.text, start):
            self.open, self.depths, self.is_hot, self.is_stuck, self.named = [], Counter(), True, False, ""
        if follows in ("=", ":"):
            may_follow = self.open or follows == "="  # a conditional has a colon too
            is_name = self.before in ("x\n{},;" if may_follow else "\n{},;") or self._is_secret(word)
        else:
            is_secret = self._is_secret(word) and not (word in FUNCTIONS and self.text[end : end + 1] == "(")
            is_name = not self.open and (self.before in "\n{}" or (is_secret and self.before == "x"))
        if is_name and self._name(word, follows):
            self.before = "x"
            return end
        if self.is_hot:
            end = self._hot_word(start)
        elif self.in_header:
            self.shown.add(word)
        self._value("x" if self.text[end : end + 1] != "(" else "(")
        self.before = "x"
        return end

    def _sign(self, match: re.Match[str]) -> int:
        sign, (start, end) = match[0], match.span()
        if sign in "([" or (sign == "{" and (self.before in "=:([,?" or self._is_argument(self.named))):
            is_open_map = sign == "{" and self.named == "for_each"
            self._value(sign)
            self.is_hot = self.is_hot or is_open_map  # any argument may take its values
            self._open(sign)
        elif sign == "{":
            self.is_hot, self.in_header, self.has_value = True, False, False
        elif sign in ")]}":
            sign = "x" if self._close(sign) else sign
        elif sign == "," and self.open and not self._is_secret(self.named):
            self.is_hot, self.named = self.open[-1][1], ""
        elif sign[0] not in "=:,;?<>|" and (bare := _BARE.match(self.text, start)):
            end = bare.end()
            if self.is_hot:
                self._hide(start, end)
            self._value("x")
            sign = "x"
        elif sign in "=:":
            if sign == "=" and (self.before != "x" or not (self.named or self.open)):
                self.is_hot = True  # the name before it is lost
            self.has_value = False
        self.before = sign
        return end

    # What they mean

    def _hide(self, start: int, end: int) -> None:
        if end > start:
            self.hidden.append((start, end))

    def _follows(self, end: int) -> str:
        match = _FOLLOWS.match(self.text, end)
        return match[1] if match else ""

    def _value(self, begins: str) -> None:
        """A value begins here: one of a secret that takes a map or a list has to begin as such, or with a call."""
        self.is_stuck = self.is_stuck or (self.named in self.words.nested and begins not in "{[(")
        self.named = ""
        self.has_value = not self.in_header

    def _open(self, bracket: str) -> None:
        self.open.append((bracket, self.is_hot))
        self.depths[bracket] += 1

    def _close(self, sign: str) -> bool:
        """Whether it closes a bracket of a value; else it closes a block, or nothing."""
        opening = {")": "(", "]": "[", "}": "{"}[sign]
        while self.depths[opening]:
            bracket, self.is_hot = self.open.pop()
            self.depths[bracket] -= 1
            if bracket == opening:
                self.is_stuck = self.is_stuck or self._is_secret(self.named)
                self.is_hot = self.is_hot or self.is_stuck
                return True
        if sign == "}" and not self.open:
            self.is_hot, self.is_stuck, self.in_header = True, self._is_secret(self.named), False
            self.named = ""
        return False

    def _name(self, word: str, follows: str, *, is_quoted: bool = False) -> bool:
        """Take a word for the name of an argument, a key or a block, if it can be one; what follows is hot or not.

        Names of arguments stand without quotes, so what is quoted may be anything and is never taken for a misspelling.
        """
        is_secret = self._is_secret(word)
        if self.open and self.before == "x" and self._is_secret(self.named):
            return True  # the value of a secret has not come yet
        if self.open:
            self.is_hot, self.named = self.open[-1][1] or is_secret, word
            return True
        if self.before == "x" and self._is_secret(self.named):
            self.is_stuck = True  # its value has not come yet, so this is no name, or one too many
        is_assigned = follows != "" and follows in '=:{"`=='
        known = word if self._is_known(word) else self._nearest(word) if is_assigned and not is_quoted else None
        is_argument = follows in ("=", ":") or known not in self.words.blocks
        self.in_header = not is_argument and not self.is_stuck
        # A block that is written as an argument may have got the secret that belongs inside of it.
        is_guarded = is_argument and known in self.words.guarded
        is_plain = not is_secret and not is_guarded and (known in self.words.plain or known in self.words.blocks)
        self.is_hot = self.is_stuck or not is_plain
        self.named, self.has_value = word if is_argument else "", False
        if known is None and not is_secret and not is_assigned:
            return False
        self.shown.add(word)
        return True

    def _nearest(self, word: str, known: Iterable[str] = ()) -> str | None:
        """The known name that a word is a misspelling of, or was before; a short one may be anything."""
        if former := former_argument(word, self.words.plain):
            return former
        if len(word) < _SHORTEST or not (word.islower() or word.istitle()) or word in _CONSTANTS:
            return None
        if word not in self.guesses and len(self.guesses) < _GUESSES:
            names = sorted(known or self.words.plain | self.words.secrets | self.words.blocks)
            self.guesses[word] = nearest(word, names)
        return self.guesses.get(word)

    def _is_known(self, word: str) -> bool:
        return word in self.words.plain or word in self.words.secrets or word in self.words.blocks

    def _is_argument(self, word: str) -> bool:
        return self._is_secret(word) or word in self.words.plain

    def _is_secret(self, word: str) -> bool:
        if word in self.words.plain or not word:
            return False
        return word in self.words.secrets or looks_secret(word) or self.words.holds_secret(word)

    def _hot_word(self, start: int) -> int:
        """Hide a word in the place of a secret, but for a call of a function, a reference and a constant."""
        if match := _SAFE_ARGUMENT.match(self.text, start):
            self._value("(")
            self._open("(")
            return match.end()
        if match := _NAMED.match(self.text, start):
            return match.end()
        match = _BARE.match(self.text, start)
        end = match.end() if match else start + 1
        if self.text[end : end + 1] == "(" and self._nearest(self.text[start:end], FUNCTIONS):
            return end
        if self.text[start:end] not in _CONSTANTS:
            self._hide(start, end)
        return end
