// Package audit chains an incident's journal by hashes and finds what was changed, added or removed afterwards. It is
// pure: the store keeps the hashes, the command line reads them.
//
// Whoever can write to the database can write new hashes, too. What they cannot change are heads outside of it, in the
// log and in Slack's threads: a chain that still has such a head has every entry up to it as it was.
package audit
