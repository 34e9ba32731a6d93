package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// Row is one entry of a journal as the store keeps it.
type Row struct {
	Seq    int64
	Thread bool
	// Body is the entry as JSON, to the byte as it is stored.
	Body string
	// Hash is empty on a row that was stored without one.
	Hash string
}

// Removed is what is left of a journal that was removed together with its incident.
type Removed struct {
	At     time.Time
	Reason string
}

// Chain is the journal of an incident with what the store has noted of it beside the rows.
type Chain struct {
	Incident string
	// Known says that the incident itself is in the store, Noted that the note about its chain is: Entries, Head, Unhashed
	// and Removed.
	Known, Noted bool
	// Entries is the number of the last entry and Head its hash.
	Entries int64
	Head    string
	// Unhashed is the number of the last entry from before the store had hashes. Head was then worked out at once over all
	// of them.
	Unhashed int64
	// Removed is nil for a journal that is there.
	Removed *Removed
	Rows    []Row
}

// ShortLength is how much of a hash people are shown, and the least that identifies one.
const ShortLength = 12

// Short is a hash as people are shown it.
func Short(hash string) string { return hash[:min(len(hash), ShortLength)] }

// Link is the hash of an entry: SHA-256 over the hash before it, the incident, the entry's number, whether it belongs
// into the thread (1 or 0) and its body, each but the last followed by a line feed, as hexadecimal digits. Before the
// first entry there is no hash.
func Link(before, incident string, r Row) string {
	thread := "0"
	if r.Thread {
		thread = "1"
	}
	sum := sha256.Sum256([]byte(before + "\n" + incident + "\n" + strconv.FormatInt(r.Seq, 10) + "\n" + thread + "\n" +
		r.Body))
	return hex.EncodeToString(sum[:])
}
