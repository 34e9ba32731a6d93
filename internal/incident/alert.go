package incident

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Alert is one Alertmanager alert, known by its fingerprint.
type Alert struct {
	Fingerprint string            `json:"fingerprint"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Firing      bool              `json:"firing"`
	// StartsAt is the earliest start seen. It may move backwards when a second Prometheus reports the same alert.
	StartsAt time.Time `json:"startsAt"`
	EndsAt   time.Time `json:"endsAt,omitzero"`
	// NoStart says of a word about the alert that StartsAt is only its receipt: the start that it told cannot have been.
	NoStart      bool   `json:"noStart,omitempty"`
	GeneratorURL string `json:"generatorURL,omitempty"`
	// SeenAt is when the newest delivery with this alert was stored.
	SeenAt time.Time `json:"seenAt"`
	// NewestStart is the latest start heard of, and LastEnd the latest end: between them they say whether it fires, in
	// whatever order its news came in. Empty in alerts that an older version stored.
	NewestStart time.Time `json:"newestStart,omitzero"`
	LastEnd     time.Time `json:"lastEnd,omitzero"`
	// Untold counts its changes since the thread was told of it; Told says that it ever was.
	Untold int  `json:"untold,omitempty"`
	Told   bool `json:"told,omitempty"`
	// Ends are the last words about its ends.
	Ends []AlertEnd `json:"ends,omitempty"`
	// AnewBy is the source by whose word it fires although the start is not after the last end, and AnewAt when that was
	// received; zero when the times tell that it fires.
	AnewBy string    `json:"anewBy,omitempty"`
	AnewAt time.Time `json:"anewAt,omitzero"`
	// Sought says that the pool of an alert without one has been looked for, and what was found has been said.
	Sought bool `json:"sought,omitempty"`
}

// Name is the alertname label.
func (a Alert) Name() string { return a.Labels["alertname"] }

// TestAlertName is the name of the alert by which people test the way from Alertmanager to Slack. It says nothing about
// a pool, and hides nothing: among other alerts it doesn't count.
const TestAlertName = "vLLMMedicTestAlert"

// Test says that the alert is such a test.
func (a Alert) Test() bool { return a.Name() == TestAlertName }

// OnlyTest says that the incident is about nothing but test alerts, so that nothing is proposed for it.
func (i Incident) OnlyTest() bool {
	return len(i.Alerts) > 0 && !slices.ContainsFunc(i.Alerts, func(a Alert) bool { return !a.Test() })
}

// Delivery is one webhook request of Alertmanager as the inbox keeps it. Its ID orders deliveries.
type Delivery struct {
	ID         int64     `json:"id"`
	ReceivedAt time.Time `json:"receivedAt"`
	// Receiver is Alertmanager's receiver name, unquoted.
	Receiver  string `json:"receiver"`
	GroupKey  string `json:"groupKey"`
	Truncated uint64 `json:"truncated,omitempty"`
	// Cut says that it was larger than is read. What Alertmanager writes after the alerts is missing then: Truncated,
	// GroupKey, and with the external URL Sender.
	Cut    bool   `json:"cut,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Sender tells one Alertmanager from its peers, as far as a request shows it; empty when nothing is known of it.
	Sender string  `json:"sender,omitempty"`
	Alerts []Alert `json:"alerts"`
	// Drill asks for a drill instead; it comes without alerts. What Alertmanager sends never sets it.
	Drill *DrillOrder `json:"exercise,omitempty"`
	// Attempts counts how often it was taken from the inbox. The store fills it.
	Attempts int `json:"-"`
	// Fence proves the claim of a taken delivery. The store fills it.
	Fence int64 `json:"-"`
}

// sourceSeparator is between the group and the sender of a source.
const sourceSeparator = "/"

// Source is the group that the delivery tells of and the Alertmanager that it comes from; empty when the Alertmanager
// is not known. Word from one source comes in the order in which it happened: an Alertmanager ends one notification of
// a group before it begins the next. Peers have the group in common.
func (d Delivery) Source() string {
	if d.Sender == "" {
		return ""
	}
	return shortHash(d.Receiver+"\x00"+d.GroupKey) + sourceSeparator + shortHash(d.Sender)
}

func shortHash(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:8])
}
