package incident

import "time"

// Alert is one Alertmanager alert, known by its fingerprint.
type Alert struct {
	Fingerprint string            `json:"fingerprint"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Firing      bool              `json:"firing"`
	// StartsAt is the earliest start seen. It may move backwards when a second Prometheus reports the same alert.
	StartsAt     time.Time `json:"startsAt"`
	EndsAt       time.Time `json:"endsAt,omitzero"`
	GeneratorURL string    `json:"generatorURL,omitempty"`
	// SeenAt is when the newest delivery with this alert was stored.
	SeenAt time.Time `json:"seenAt"`
}

// Name is the alertname label.
func (a Alert) Name() string { return a.Labels["alertname"] }

// Delivery is one webhook request of Alertmanager as the inbox keeps it. Its ID orders deliveries.
type Delivery struct {
	ID         int64     `json:"id"`
	ReceivedAt time.Time `json:"receivedAt"`
	// Receiver is Alertmanager's receiver name, unquoted.
	Receiver  string  `json:"receiver"`
	GroupKey  string  `json:"groupKey"`
	Truncated uint64  `json:"truncated,omitempty"`
	Reason    string  `json:"reason,omitempty"`
	Alerts    []Alert `json:"alerts"`
	// Attempts counts how often it was taken from the inbox. The store fills it.
	Attempts int `json:"-"`
	// Fence proves the claim of a taken delivery. The store fills it.
	Fence int64 `json:"-"`
}
