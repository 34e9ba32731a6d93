// Package strictyaml reads the YAML that people write: medic.yaml, playbooks and the tests of playbooks.
//
// Strict means: one document in a file, only fields that exist, none of them twice, and every value of the kind that
// belongs there. All errors of a file are found in one pass, and each has its file, line and column: those of the shape
// here, those of the meaning wherever a Value went. What a problem is called, and how durations and quantities are
// written, is decided here for all files. The package is pure: it is given bytes.
package strictyaml
