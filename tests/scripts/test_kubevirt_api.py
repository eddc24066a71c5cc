"""What the API of a release says, read from sources that are small enough to write the answer down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cloning import clone
from kubevirt_api import API, CRDS, IMPORTER, OPENAPI, REGISTER, VALIDATIONS, kinds, read

RELEASE = (1, 5, 0)
DEFINITIONS: dict[str, Any] = {
    "v1.VirtualMachine": {
        "description": "A machine.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"description": "The version.", "type": "string"},
            "spec": {"default": {}, "$ref": "#/definitions/v1.VirtualMachineSpec"},
        },
    },
    "v1.VirtualMachineSpec": {
        "type": "object",
        "required": ["disks"],
        "properties": {
            "disks": {
                "type": "array",
                "items": {"default": {}, "$ref": "#/definitions/v1.Disk"},
                "x-kubernetes-list-type": "atomic",
            },
            "policy": {"type": "string", "enum": ["A", "B"]},
            "sizes": {"type": "object", "additionalProperties": {"default": 0, "type": "integer", "format": "int64"}},
            "until": {"$ref": "#/definitions/k8s.io.apimachinery.pkg.apis.meta.v1.Time"},
        },
    },
    "v1.Disk": {
        "type": "object",
        "properties": {"bootOrder": {"type": "integer", "format": "int32"}, "port": {"type": ["string", "number"]}},
    },
    "k8s.io.apimachinery.pkg.apis.meta.v1.Time": {"type": "string", "format": "date-time"},
}
VIRTUAL_MACHINE = """\
openAPIV3Schema:
  description: A 'machine'.
  properties:
    apiVersion: {type: string}
    spec:
      description: |-
        Its
        specification.
      properties:
        disks:
          items:
            properties:
              bootOrder: {minimum: 1, type: integer}
              port: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}
            type: object
            x-kubernetes-validations: [{rule: has(self.port)}]
          maxItems: 256
          type: array
        policy: {type: string, enum: [A, B]}
        sizes: {additionalProperties: {format: int32, type: integer}, type: object}
        until: {format: date-time, nullable: true, type: string}
      required: [disks]
      type: object
  required: [spec]
  type: object
"""
# Of a schema for no CRD nothing is read.
OTHER = "openAPIV3Schema: {properties: {strange: {type: string}}}\n"
TYPES = """\
package v1

// VirtualMachine is one.
type VirtualMachine struct {
\tmetav1.TypeMeta `json:",inline"`
\tSpec VirtualMachineSpec `json:"spec"`
}

type VirtualMachineSpec struct {
\t// Disks of it, of which `json:"none"` is said.
\tDisks []Disk `json:"disks" valid:"required"`
\tPolicy *string `json:"policy,omitempty"`
\tSizes map[string]uint32 `json:"sizes,omitempty"`
\tUntil *metav1.Time `json:"until,omitempty" protobuf:"bytes,1,opt"`
}
"""
DISK = """\
package v1

type Disk struct {
\tBootOrder *uint `json:"bootOrder,omitempty"`
\t*DiskPort `json:",inline"`
}

type DiskPort struct {
\tPort intstr.IntOrString `json:"port,omitempty"`
}
"""
OTHER_DISK = """\
package v1

type Disk struct {
\tBootOrder string `json:"bootOrder"`
\tPath string `json:"path"`
\tPort string `json:"port"`
}
"""
MAKERS = """\
package components

import (
\tpoolv1 "kubevirt.io/api/pool/v1alpha1"
\tpoolv1beta1 "kubevirt.io/api/pool/v1beta1"
)

func NewVirtualMachineCrd() (*extv1.CustomResourceDefinition, error) {
\tcrd.Spec = extv1.CustomResourceDefinitionSpec{
\t\tVersions: newCRDVersions(),
\t\tScope:    "Namespaced",
\t\tNames: extv1.CustomResourceDefinitionNames{
\t\t\tSingular:   "virtualmachine",
\t\t\tKind:       virtv1.VirtualMachineGroupVersionKind.Kind,
\t\t},
\t}
}

func NewPoolCrd() (*extv1.CustomResourceDefinition, error) {
\tcrd := &extv1.CustomResourceDefinition{
\t\tTypeMeta: metav1.TypeMeta{
\t\t\tKind:       "CustomResourceDefinition",
\t\t},
\t}
\tcrd.Spec = extv1.CustomResourceDefinitionSpec{
\t\tVersions: []extv1.CustomResourceDefinitionVersion{
\t\t\t{
\t\t\t\tName:    poolv1.SchemeGroupVersion.Version,
\t\t\t\tServed:  false,
\t\t\t\tStorage: false,
\t\t\t},
\t\t\t{
\t\t\t\tName:    poolv1beta1.SchemeGroupVersion.Version,
\t\t\t\tServed:  true,
\t\t\t},
\t\t\t{
\t\t\t\tName:               "v1beta2",
\t\t\t\tServed:             true,
\t\t\t},
\t\t},
\t\tScope: extv1.ClusterScoped,
\t\tNames: extv1.CustomResourceDefinitionNames{
\t\t\tSingular: "pool",
\t\t\tKind:     "Pool",
\t\t},
\t\tSubresources: &extv1.CustomResourceSubresources{
\t\t\tScale: &extv1.CustomResourceSubresourceScale{},
\t\t\tStatus: &extv1.CustomResourceSubresourceStatus{},
\t\t},
\t}
}

func NewPluginCrd() (*extv1.CustomResourceDefinition, error) {
\tcrd.Spec = extv1.CustomResourceDefinitionSpec{
\t\tVersions: []extv1.CustomResourceDefinitionVersion{{Name: "v1alpha1",
\t\t\tServed: true,
\t\t}},
\t\tScope: extv1.NamespaceScoped,
\t\tNames: extv1.CustomResourceDefinitionNames{
\t\t\tSingular: plugin.ResourcePluginSingular,
\t\t\tKind:     plugin.Kind,
\t\t},
\t}
}

func NewKubeVirtPriorityClassCR() *schedulingv1.PriorityClass {
\treturn &schedulingv1.PriorityClass{}
}
"""
VERSIONS = """\
\tApiSupportedVersions = []extv1.CustomResourceDefinitionVersion{
\t\t{
\t\t\tName:    "v1",
\t\t\tServed:  true,
\t\t},
\t\t{
\t\t\tName:    "v1alpha3",
\t\t\tServed:  true,
\t\t},
\t}
"""


def sources(**changed: str) -> dict[str, str]:
    schemas = {"datavolumetemplatespec": OTHER, "plugin": OTHER, "pool": OTHER, "virtualmachine": VIRTUAL_MACHINE}
    schemas |= changed
    entries = "".join(f'\t"{name}": `{text}`,\n' for name, text in schemas.items())
    return {
        OPENAPI: json.dumps({"definitions": DEFINITIONS}),
        VALIDATIONS: f"package components\n\nvar CRDsValidation = map[string]string{{\n{entries}}}\n",
        CRDS: MAKERS,
        REGISTER: VERSIONS,
        f"{API}/core/v1/types.go": TYPES,
        f"{API}/core/v1/schema.go": DISK,
        f"{API}/other/v1/types.go": OTHER_DISK,
        f"{IMPORTER}/v1beta1/types.go": "package v1beta1\n",
    }


def types_of(folder: Path, **changed: str) -> dict[str, Any]:
    return read(clone(folder, {"v1.5.0": sources(**changed)}), RELEASE)["types"]


def test_types_have_what_openapi_crd_and_go_say_of_their_fields(tmp_path: Path) -> None:
    assert types_of(tmp_path) == {
        "v1.VirtualMachine": {
            "fields": {
                "apiVersion": {"type": "string", "required": False, "openapi": {"type": "string"}, "crd": {"type": "string"}},
                "spec": {
                    "type": "v1.VirtualMachineSpec",
                    "required": True,
                    "openapi": {"default": {}},
                    "crd": {"type": "object", "required": ["disks"]},
                    "go": "VirtualMachineSpec",
                },
            },
            "openapi": {"type": "object", "required": ["spec"]},
            "crd": {"type": "object", "required": ["spec"]},
        },
        "v1.VirtualMachineSpec": {
            "fields": {
                "disks": {
                    "type": ["v1.Disk"],
                    "required": True,
                    "openapi": {"type": "array", "items": {"default": {}}, "x-kubernetes-list-type": "atomic"},
                    "crd": {
                        "type": "array",
                        "items": {"type": "object", "x-kubernetes-validations": [{"rule": "has(self.port)"}]},
                        "maxItems": 256,
                    },
                    "go": "[]Disk",
                },
                "policy": {
                    "type": "string",
                    "required": False,
                    "openapi": {"type": "string", "enum": ["A", "B"]},
                    "crd": {"type": "string", "enum": ["A", "B"]},
                    "go": "string",
                },
                "sizes": {
                    "type": {"*": "integer"},
                    "required": False,
                    "openapi": {
                        "type": "object",
                        "additionalProperties": {"default": 0, "type": "integer", "format": "int64"},
                    },
                    "crd": {"type": "object", "additionalProperties": {"format": "int32", "type": "integer"}},
                    "go": "map[string]uint32",
                },
                "until": {
                    "type": "k8s.io.apimachinery.pkg.apis.meta.v1.Time",
                    "required": False,
                    "openapi": {},
                    "crd": {"type": "string", "format": "date-time", "nullable": True},
                    "go": "metav1.Time",
                },
            },
            "openapi": {"type": "object", "required": ["disks"]},
        },
        "v1.Disk": {
            "fields": {
                "bootOrder": {
                    "type": "integer",
                    "required": False,
                    "openapi": {"type": "integer", "format": "int32"},
                    "crd": {"type": "integer", "minimum": 1},
                    "go": "uint",
                },
                "port": {
                    "type": ["string", "number"],
                    "required": False,
                    "openapi": {"type": ["string", "number"]},
                    "crd": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
                    "go": "intstr.IntOrString",
                },
            },
            "openapi": {"type": "object"},
        },
        "k8s.io.apimachinery.pkg.apis.meta.v1.Time": {"fields": {}, "openapi": {"type": "string", "format": "date-time"}},
    }


def test_a_field_that_openapi_lacks_is_an_error(tmp_path: Path) -> None:
    schema = VIRTUAL_MACHINE.replace("apiVersion:", "newVersion:")
    with pytest.raises(ValueError, match=r"VirtualMachine\.newVersion: .* has none of that name in v1\.VirtualMachine$"):
        types_of(tmp_path, virtualmachine=schema)


def test_two_places_that_say_different_things_of_a_field_are_an_error(tmp_path: Path) -> None:
    definitions = {**DEFINITIONS, "v1.Pool": {**DEFINITIONS["v1.VirtualMachine"]}}
    schema = VIRTUAL_MACHINE.replace("minimum: 1", "minimum: 2")
    files = sources(pool=schema) | {OPENAPI: json.dumps({"definitions": definitions})}
    source = clone(tmp_path, {"v1.5.0": files})
    with pytest.raises(ValueError, match=r"^Pool\.spec\.disks\.bootOrder: the CRDs differ on bootOrder of v1\.Disk: "):
        read(source, RELEASE)


def test_a_kind_without_a_schema_is_an_error(tmp_path: Path) -> None:
    files = sources()
    files[VALIDATIONS] = files[VALIDATIONS].replace('"pool"', '"pond"')
    with pytest.raises(ValueError, match=rf"^{VALIDATIONS} of KubeVirt 1\.5\.0 has no schema of Pool$"):
        read(clone(tmp_path, {"v1.5.0": files}), RELEASE)


def test_kinds_have_the_versions_and_subresources_that_are_served(tmp_path: Path) -> None:
    plain = {"namespaced": True, "status": False, "scale": False}
    assert kinds(clone(tmp_path, {"v1.5.0": sources()}), RELEASE) == {
        "VirtualMachine": {"versions": {"v1", "v1alpha3"}, **plain},
        "Pool": {"versions": {"v1beta1", "v1beta2"}, "namespaced": False, "status": True, "scale": True},
        "Plugin": {"versions": {"v1alpha1"}, **plain},
    }
