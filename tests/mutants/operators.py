"""Where a source can be mutated: operators(), each a small mistake that a programmer makes.

A site is one change of one line. Its key is made of the file, the operator, and the text of the line
before and after, so it stays the same when lines above it come or go.
"""

import dataclasses
import hashlib
import re


@dataclasses.dataclass(frozen=True)
class Site:
    file: str  # from the root of the repository
    line: int  # from 1
    operator: str
    before: str  # the line without its indentation
    after: str
    nth: int  # of sites of the file with these texts, this one's number, from 0

    @property
    def key(self):
        text = "\0".join([self.file, self.operator, self.before, self.after, str(self.nth)])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


# (operator, pattern, replacement): each match of the pattern in the code of a line is a site.
WORD = r"[A-Za-z_][\w.]*(?:\[[^][]*\])?"
KERNEL_RULES = [
    ("drop barrier", r"__sync(?:threads|warp)\([^()]*\);", ";"),
    ("drop barrier", r"\b(?:grid|block|cluster|group|warp)\.sync\(\);", ";"),
    ("drop barrier", r"^\s*(?:device::)?(?!__|\w*mma_sync)\w*(?:sync|wait)\w*(?:<[^<>;]*>)?\([^()]*\);", ";"),
    ("drop fence", r"__threadfence(?:_block|_system)?\(\);", ";"),
    ("drop fence", r"\b(?:device::)?(?:\w*fence\w*|\w*commit\w*)\(\);", ";"),
    ("wrong lane mask", r"\b0xffffffffu?\b", "0x7fffffffu"),
    ("wrong lane mask", r"\bkFullMask\b|\bkAllLanes\b", "0x7fffffffu"),
    ("wrong lane mask", r"(__sh?fl\w*_sync\([^;]*, |shuffle_\w+\([^;]*, )(\w+)\)", r"\1\2 + 1)"),
    ("swap indices", r"\b(threadIdx|blockIdx|blockDim|gridDim)\.x\b", r"\1.y"),
    ("swap indices", r"\b(threadIdx|blockIdx|blockDim|gridDim)\.y\b", r"\1.x"),
    ("swap indices", r"\[([^][]+)\]\[([^][]+)\]", r"[\2][\1]"),
    ("float for double", r"\bdouble\b", "float"),
]
RULES = [
    ("relax comparison", r" < ", " <= "),
    ("relax comparison", r" <= ", " < "),
    ("relax comparison", r" > ", " >= "),
    ("relax comparison", r" >= ", " > "),
    ("other comparison", r" == ", " != "),
    ("other comparison", r" != ", " == "),
    ("swap operands", rf"\b({WORD}) (-|/|%) ({WORD}|\d+)(?![\w(:.[])", r"\3 \2 \1"),
    ("swap operands", rf"\(({WORD}), ({WORD})\)", r"(\2, \1)"),
    ("drop guard", r"\bif \((?!constexpr)((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))+)\)", "if (true)"),
    ("drop guard", rf" && (?:[^()&|?;,]|\([^()]*\))+(?=\)|;|,| \?| &&| \|\|)", ""),
    ("drop guard", rf" \|\| (?:[^()&|?;,]|\([^()]*\))+(?=\)|;|,| \?| &&| \|\|)", ""),
    ("off by one", r" \+ 1\b(?![.])", ""),
    ("off by one", r" - 1\b(?![.])", ""),
    ("off by one", r"\b(k[A-Z]\w*)\b(?! ?[<({:=]|\w)", r"(\1 - 1)"),
    ("off by one", r"([=(,] )0;", r"\g<1>1;"),
    ("drop initialisation", r"^(\s*(?:float|double|int|bool|T|Total|Value|unsigned|std::u?int\d+_t) \w+) = [^;,]+;", r"\1;"),
    ("drop initialisation", r"^(\s*[\w.]+(?:\[[^;=]*\])*) = (0|0\.0f|0\.0|T\(0\)|\{\}|\w*identity\(\)|false);", r"\1;"),
    ("drop assignment", r"^(\s*)(?!return|const|using)[\w.>*-]+(?:\[[^;=]*\])* [+*|^&-]?= [^;]+;$", r"\1;"),
    ("wrong sign", r" \+= ", " -= "),
    ("wrong sign", r" -= ", " += "),
    ("wrong sign", r" \+ (?=[A-Za-z_(])", " - "),
    ("wrong sign", r" - (?=[A-Za-z_(])", " + "),
    ("wrong factor", r" \* (?=[A-Za-z_(])", " + "),
    ("wrong factor", r" / (?=[A-Za-z_(])", " * "),
]


def operators():
    return sorted({rule[0] for rule in KERNEL_RULES + RULES})


def blank_comments(text):
    """The text with comments and the insides of strings replaced by spaces."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", blank, text, flags=re.S)


def inactive_lines(lines):
    """The numbers of lines that a preprocessor's condition keeps from host-cuda, from 0."""
    off, stack = set(), []
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith("#if"):
            host = "defined(WEFT_HOST_CUDA)" in text or text.startswith("#ifdef WEFT_HOST_CUDA")
            stack.append(host and "__SANITIZE_ADDRESS__" not in text)
        elif text.startswith("#el") and stack:
            stack[-1] = not stack[-1]
        elif text.startswith("#endif") and stack:
            stack.pop()
        elif stack and not all(stack):
            off.add(number)
    return off


def device_lines(code):
    """The numbers of lines inside the bodies of __global__ and __device__ functions, from 0."""
    inside, depth, start, opened, line = set(), 0, 0, None, 0
    for at, char in enumerate(code):
        if char == "\n":
            line += 1
        elif char == "{":
            if opened is None and re.search(r"__(?:device|global)__", code[start:at]):
                opened = depth
            depth += 1
            start = at + 1
        elif char == "}":
            depth -= 1
            start = at + 1
            if opened == depth:
                opened = None
        elif char == ";" and code[start:at].count("(") == code[start:at].count(")"):
            start = at + 1
        if opened is not None:
            inside.add(line)
    return inside


def function_lines(code):
    """The numbers of indented lines of an ordinary source, from 0: bodies of functions, mostly."""
    return {number for number, line in enumerate(code.split("\n")) if line.startswith("  ")}


SKIPPED = re.compile(r"^\s*(#|template|using|static_assert|case |WEFT_|namespace|struct|class|return \"|throw )"
                     r"|static_assert|\basm\b|if constexpr|\bvolatile\(")


def sites(path, text):
    """All sites of a source, in order."""
    kernel = path.endswith((".cu", ".cuh"))
    code = blank_comments(text)
    lines, codes = text.split("\n"), code.split("\n")
    allowed = device_lines(code) if kernel else function_lines(code)
    if kernel:
        allowed -= inactive_lines(lines)
    counts, found = {}, []
    for number in sorted(allowed):
        line, clean = lines[number], codes[number]
        if SKIPPED.search(clean) or not clean.strip():
            continue
        made = {line}  # two rules may make the same line
        for operator, pattern, replacement in (KERNEL_RULES if kernel else []) + RULES:
            for match in re.finditer(pattern, clean):
                try:
                    new = match.expand(replacement)
                except re.error:
                    continue
                if operator == "off by one" and re.search(r"constexpr|<[^ ]*$", clean[: match.start()]):
                    continue
                after = line[: match.start()] + new + line[match.end():]
                if after in made:
                    continue
                # What was a string or a comment inside of the match is lost: such a site is left out.
                if line[match.start():match.end()] != clean[match.start():match.end()]:
                    continue
                made.add(after)
                before = line.strip()
                triple = (operator, before, after.strip())
                nth = counts.get(triple, 0)
                counts[triple] = nth + 1
                found.append((Site(path, number + 1, operator, before, after.strip(), nth), after))
    return found


def mutated(text, line, after):
    """The text with one line replaced."""
    lines = text.split("\n")
    lines[line - 1] = after
    return "\n".join(lines)
