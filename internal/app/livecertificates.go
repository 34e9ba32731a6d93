package app

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/config"
)

// liveCertificates reads the authority of people's client certificates. Without the file of it that the configuration
// names, the bot would not start.
func liveCertificates(ctx context.Context, cfg config.Access, rc *rest.Config) Finding {
	f := Finding{Where: "kubernetes, client certificates", Good: true, Text: "approvals, pauses and reads with one work"}
	gate, err := newGate(rc, cfg)
	f.Fatal = err != nil
	if err == nil {
		err = gate.CheckAuthority(ctx)
	}
	if err != nil {
		f.Good, f.Text = false, err.Error()
	}
	return f
}
