"""python check-custom-resources.py MANIFESTS… -- CRDS…: checks custom resources against the schemas of their definitions.

A field that a schema does not have is a failure, because the server of the cluster drops it in silence. Ends with 1 and names each failure.
"""

import sys

import jsonschema
import yaml

# Groups of Kubernetes itself, which kubernetes-validate checks.
OWN = {"apps", "autoscaling", "networking.k8s.io", "policy", "v1"}


def documents(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield from (one for one in yaml.safe_load_all(file) if one)


def strict(schema):
    """The schema without unknown fields."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(value) for name, value in schema.items()}
    # A number or a text, such as a port.
    if made.pop("x-kubernetes-int-or-string", False):
        made.pop("type", None)
    if "properties" in made and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def main():
    split = sys.argv.index("--")
    manifests, definitions = sys.argv[1:split], sys.argv[split + 1 :]
    schemas = {}
    for crd in documents(definitions):
        spec = crd["spec"]
        for version in spec["versions"]:
            kind = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
            schemas[kind] = strict(version["schema"]["openAPIV3Schema"])
    checked, failures = set(), []
    for resource in documents(manifests):
        kind = (resource["apiVersion"], resource["kind"])
        if kind[0].split("/")[0] in OWN:
            continue
        if kind not in schemas:
            failures.append(f"{' '.join(kind)}: no definition")
            continue
        checked.add(kind[1])
        # The definition says nothing about the metadata.
        body = {name: value for name, value in resource.items() if name != "metadata"}
        for error in jsonschema.Draft202012Validator(schemas[kind]).iter_errors(body):
            failures.append(f"{kind[1]} {error.json_path}: {error.message[:300]}")
    print(*failures, sep="\n", file=sys.stderr)
    print(f"checked: {', '.join(sorted(checked))}")
    return 1 if failures else 0


sys.exit(main())
