// Package actions is the registry of the knobs that the bot may adjust, and the one write that it makes.
//
// A write is one JSON Patch of one object. It sets an absolute value, tests that object and value are those that were
// just read (the version, where a value is absent), and is sent once: a conflict is reported, never retried. A DryRun
// has the same methods and can send nothing but reads, dry runs and questions about its own permissions, which its
// connection enforces. Registry and DryRun hold no state and are safe for concurrent use.
package actions
