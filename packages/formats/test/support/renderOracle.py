"""Renders conversations with Jinja2, and puts them into tokens with Hugging Face's tokenizers where those are installed.

Reads one JSON document from stdin: {"models": {name: directory or file.jinja}, "cases": [{"model", "messages", "tools",
"date"}]}.
Writes {"tokenizers": bool, "results": [{"text", "prompt", "generated", "ids", "offsets"} | {"refused"}]}. Set up as
transformers sets Jinja up, by its documentation.
"""

import datetime
import json
import pathlib
import sys

try:
    from jinja2 import nodes
    from jinja2.exceptions import TemplateError
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError:
    sys.exit(3)
try:
    from tokenizers import Tokenizer
except ImportError:
    Tokenizer = None

OPEN, CLOSE = "\ufdd2", "\ufdd3"


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return [
            nodes.Output([nodes.TemplateData(OPEN)]).set_lineno(line),
            *body,
            nodes.Output([nodes.TemplateData(CLOSE)]).set_lineno(line),
        ]


def refuse(message):
    raise TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def model(directory):
    folder = pathlib.Path(directory)
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.globals["raise_exception"] = refuse
    environment.filters["tojson"] = to_json
    if folder.suffix == ".jinja":
        tokens = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
        return environment.from_string(folder.read_text("utf8")), tokens, None
    config = json.loads((folder / "tokenizer_config.json").read_text("utf8"))
    file = folder / "chat_template.jinja"
    source = file.read_text("utf8") if file.exists() else config["chat_template"]
    names = {name: value for name, value in config.items() if name.endswith("_token") and value is not None}
    tokens = {name: value if isinstance(value, str) else value["content"] for name, value in names.items()}
    tokenizer = None if Tokenizer is None else Tokenizer.from_file(str(folder / "tokenizer.json"))
    return environment.from_string(source), tokens, tokenizer


def unmarked(text):
    spans, plain, start = [], "", 0
    for character in text:
        if character == OPEN:
            start = len(plain)
        elif character == CLOSE:
            spans.append([start, len(plain)])
        else:
            plain += character
    return plain, spans


def result(models, case):
    template, tokens, tokenizer = models[case["model"]]
    date = datetime.datetime.fromisoformat(case["date"])
    given = {
        "messages": case["messages"],
        "tools": case["tools"] or None,
        "documents": None,
        "strftime_now": date.strftime,
        **tokens,
    }
    try:
        text, generated = unmarked(template.render(add_generation_prompt=False, **given))
        prompt, _ = unmarked(template.render(add_generation_prompt=True, **given))
    except (TemplateError, TypeError, KeyError, ValueError) as error:
        return {"refused": str(error)}
    encoding = None if tokenizer is None else tokenizer.encode(text, add_special_tokens=False)
    return {
        "text": text,
        "prompt": prompt,
        "generated": generated,
        "ids": None if encoding is None else encoding.ids,
        "offsets": None if encoding is None else encoding.offsets,
    }


def main():
    given = json.load(sys.stdin)
    models = {name: model(directory) for name, directory in given["models"].items()}
    results = [result(models, case) for case in given["cases"]]
    json.dump({"tokenizers": Tokenizer is not None, "results": results}, sys.stdout, ensure_ascii=True)


main()
