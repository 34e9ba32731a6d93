package config

import (
	"cmp"

	"github.com/vllm-medic/vllm-medic/internal/reread"
)

// Tracing says where traces go.
type Tracing struct {
	Endpoint string
	// Scheme and Credentials are the parts of the Authorization header; without a Scheme there is none.
	Scheme      string
	Credentials Secret
	// CAs are nil for those of the system.
	CAs *reread.Source[reread.Authorities]
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
		out.Scheme = cmp.Or(a.Type, "Bearer")
		out.Credentials = l.secret("tracing.authorization.credentials", a.CredentialsEnv, a.CredentialsFile, true, nil)
	}
	if f.CAFile == "" {
		return out
	}
	cas, err := reread.AuthorityFile(l.files, "tracing.ca_file", l.file(f.CAFile))
	if err != nil {
		l.at("tracing.ca_file", "%v", err)
	}
	out.CAs = cas
	return out
}
