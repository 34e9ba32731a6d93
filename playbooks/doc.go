// Package playbooks says what is wrong with a pool and what to do about it: it loads signals, targets and playbooks
// from YAML, and weighs the diagnoses of the playbooks that answer an incident's alerts against the readings.
//
// It is pure: files come in as bytes, readings as values, and the same input always gives the same answer. It has no
// clock, no network and no files. A Catalog does not change after Load and is safe for concurrent use.
//
// Rules are CEL over readings and are three-valued. A comparison with a missing reading, or one that a bound does not
// settle, is undecided; "false && undecided" is false, "true || undecided" is true, everything else with an undecided
// part is undecided. Only a rule that is true chooses a diagnosis, so that nothing is ever built on a reading that is
// not there.
package playbooks
