package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/test/identity"
)

// A rotation leaves the old authority beside the new one, where its certificates go on being good. Somebody must hear
// of it.
func TestLiveNamesTheAuthoritiesOfClientCertificates(t *testing.T) {
	t.Parallel()
	pem := func() string {
		a, err := identity.NewAuthority(t.TempDir(), "kubernetes")
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(a.File)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before, after := pem(), pem()
	for name, tt := range map[string]struct {
		file          string
		good, caution bool
		says          string
		lines         int
	}{
		"one":       {after, true, false, "approvals, pauses and reads with one work", 1},
		"one twice": {after + after, true, false, "approvals, pauses and reads with one work", 1},
		"two": {
			before + after, true, true, "if any of these 2 CAs signed it; remove a retired one from access.client_ca_file", 2,
		},
		"none": {"", false, false, "access.client_ca_file holds no certificate", 0},
	} {
		file := filepath.Join(t.TempDir(), "ca.crt")
		if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := config.Access{Audience: "vllm-medic", ClientCertificates: true, ClientCAFile: file}
		f := liveCertificates(t.Context(), cfg, &rest.Config{Host: "https://127.0.0.1:1"})
		if f.Good != tt.good || f.Caution != tt.caution || !strings.Contains(f.Text, tt.says) || len(f.More) != tt.lines {
			t.Errorf("%s: %+v", name, f)
		}
		for _, line := range f.More {
			if !strings.HasPrefix(line, `CA "kubernetes", valid from 20`) {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}
