package config

import (
	"cmp"
	"crypto/x509"

	"github.com/vllm-medic/vllm-medic/internal/boundedfile"
)

// Tracing says where traces go. Authorization is the value of that header.
type Tracing struct {
	Endpoint      string
	Authorization Secret
	// CAs are nil for those of the system.
	CAs *x509.CertPool
}

func (l *loader) tracing(f *tracingFile) *Tracing {
	if f == nil {
		return nil
	}
	out := &Tracing{Endpoint: f.Endpoint}
	if f.Endpoint == "" {
		l.at("tracing.endpoint", "is required: the URL of a collector, such as http://otel-collector:4318")
	} else {
		l.address("tracing.endpoint", f.Endpoint, "use authorization")
	}
	if a := f.Authorization; a != nil {
		secret := l.secret("tracing.authorization.credentials", a.CredentialsEnv, a.CredentialsFile, true)
		out.Authorization = Secret(cmp.Or(a.Type, "Bearer") + " " + secret)
	}
	if f.CAFile == "" {
		return out
	}
	out.CAs = x509.NewCertPool()
	pem, err := boundedfile.ReadRegular(l.file(f.CAFile), boundedfile.MaxSecret)
	switch {
	case err != nil:
		l.at("tracing.ca_file", "cannot be read: %v", err)
	case !out.CAs.AppendCertsFromPEM(pem):
		l.at("tracing.ca_file", "%s holds no certificate", f.CAFile)
	}
	return out
}
