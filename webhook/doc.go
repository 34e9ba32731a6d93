// Package webhook is Alertmanager's POST: it authenticates, bounds, decodes and normalises a delivery and hands it to
// the inbox.
//
// It answers 200 only after the inbox has committed the delivery; 503 when the inbox cannot take it, which Alertmanager
// retries; 4xx only for what can never be right, which Alertmanager does not retry; and never 429, for the same reason.
// It is safe for concurrent use.
package webhook
