package app

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/config"
)

// liveCertificates reads the authorities of people's client certificates, and warns of several: one that was retired
// stays trusted for as long as it is there. Without the file of them that the configuration names, the bot would not
// start.
func liveCertificates(ctx context.Context, cfg config.Access, rc *rest.Config) Finding {
	f := Finding{Where: "kubernetes, client certificates", Good: true, Text: "approvals, pauses and reads with one work"}
	gate, err := newGate(rc, cfg)
	f.Fatal = err != nil
	var all []*x509.Certificate
	if err == nil {
		all, err = gate.Authorities(ctx)
	}
	if err != nil {
		f.Good, f.Text = false, err.Error()
		return f
	}
	all = slices.CompactFunc(all, (*x509.Certificate).Equal)
	valid := 0
	for _, ca := range all {
		line := fmt.Sprintf("CA %q, valid from %s to %s", ca.Subject.CommonName, day(ca.NotBefore), day(ca.NotAfter))
		if time.Now().After(ca.NotAfter) {
			line += ": expired"
		} else {
			valid++
		}
		f.More = append(f.More, line)
	}
	if valid > 1 {
		where := "the ConfigMap kube-system/extension-apiserver-authentication"
		if cfg.ClientCAFile != "" {
			where = "access.client_ca_file"
		}
		f.Caution = true
		f.Text = fmt.Sprintf("%s if any of these %d CAs signed it; remove a retired one from %s", f.Text, valid, where)
	}
	return f
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
