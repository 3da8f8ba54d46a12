"""Checks the daemon's responses against the description of its API (docs/openapi.json)."""

import copy
import json
import re

import jsonschema

formats = jsonschema.FormatChecker(formats=())
date_time = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")


@formats.checks("date-time")
def is_date_time(value):
    return not isinstance(value, str) or bool(date_time.match(value))


def make_strict(schema):
    """Clients must ignore members that a later version adds; here an undescribed member is an error."""
    if isinstance(schema, list):
        return [make_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: make_strict(value) for key, value in schema.items()}
    if isinstance(strict.get("properties"), dict) and "additionalProperties" not in strict:
        strict["additionalProperties"] = False
    return strict


class Contract:
    def __init__(self, document):
        self.document = document
        self.components = make_strict(document["components"])
        self.validators = {}
        self.judged = {}
        self.operations = []
        for path, methods in document["paths"].items():
            pattern = re.compile("^" + re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path)) + "$")
            for method, operation in methods.items():
                self.operations.append((method.upper(), "{" in path, pattern, operation))
        # Paths without parameters take precedence.
        self.operations.sort(key=lambda entry: entry[1])

    def find(self, method, path):
        """The operation, and the methods of the path."""
        methods = {}
        for known, _, pattern, operation in self.operations:
            if pattern.match(path):
                methods.setdefault(known, operation)
        return methods.get("GET" if method == "HEAD" else method), sorted(methods)

    def problems_of(self, schema, value):
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            root = {**make_strict(copy.deepcopy(schema)), "components": self.components}
            self.validators[key] = jsonschema.Draft202012Validator(root, format_checker=formats)
        for error in self.validators[key].iter_errors(value):
            yield f"{error.json_path}: {error.message[:300]}"

    def check(self, exchange):
        """The problems of `{method, path, query, status, type, headers, body}`; empty if it is as described."""
        # Responses that differ only in their numbers are checked once.
        key = re.sub(r"[0-9]+", "0", json.dumps([exchange["method"], exchange["path"], exchange.get("body")]))
        key = (key, exchange["status"], tuple(sorted(exchange["headers"])), tuple(sorted(exchange["query"])))
        if key not in self.judged:
            self.judged[key] = list(self.judge(exchange))
        return self.judged[key]

    def judge(self, exchange):
        status = exchange["status"]
        headers = {name.lower(): value for name, value in exchange["headers"].items()}
        operation, methods = self.find(exchange["method"], exchange["path"])
        if operation is None:
            yield from self.judge_unknown(exchange, methods, headers)
            return
        response = operation["responses"].get(str(status))
        if response is None and status >= 500:
            response = operation["responses"]["default"]
        if response is None:
            yield f"{operation['operationId']} describes no {status}: {str(exchange.get('body'))[:300]}"
            return
        if status < 400:
            known = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "query"}
            for name in set(exchange["query"]) - known:
                yield f"took the undescribed parameter {name}"
        for name in response.get("headers", {}):
            if name.lower() not in headers:
                yield f"has no {name}"
        yield from self.judge_body(exchange, response)

    def judge_unknown(self, exchange, methods, headers):
        status = exchange["status"]
        if methods:
            allowed = set(headers.get("allow", "").split(", "))
            if not set(methods) <= allowed:
                yield f"Allow is {sorted(allowed)}, there are {methods}"
            if status != (204 if exchange["method"] == "OPTIONS" else 405):
                yield f"{status} to a method that there is not"
        elif status != 404:
            yield f"{status} at a path that there is not"
        if status >= 400:
            yield from self.judge_problem(exchange.get("body"), None)

    def judge_body(self, exchange, response):
        body = exchange.get("body")
        content = response.get("content")
        if content is None:
            if body:
                yield "has a body, and none is described"
            return
        kind = exchange["type"].split(";")[0].strip()
        if kind not in content:
            yield f"is {kind}, described are {sorted(content)}"
            return
        # Too long to be recorded.
        if body is None:
            return
        if kind == "application/problem+json":
            yield from self.judge_problem(body, response.get("x-codes"))
        elif kind == "application/json":
            yield from self.judge_json(content[kind]["schema"], body)
        elif kind == "application/x-ndjson":
            lines = body.split("\n")
            # The last one was cut off with its stream, or is empty.
            for line in lines[:-1]:
                yield from self.judge_json(content[kind]["schema"], line)

    def judge_json(self, schema, text):
        try:
            value = json.loads(text)
        except ValueError as error:
            yield f"is no JSON: {error}: {text[:200]}"
            return
        yield from self.problems_of(schema, value)

    def judge_problem(self, body, codes):
        yield from self.judge_json({"$ref": "#/components/schemas/Problem"}, body)
        code = json.loads(body).get("code")
        if codes is not None and code not in codes:
            yield f"the code {code} is none of the described {codes}"
