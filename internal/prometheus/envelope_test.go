package prometheus

import "testing"

func TestSortWarningsTakesTheUnknownForPartial(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		warning string
		partial bool
	}{
		{`PromQL warning: bucket label "le" is missing`, false},
		{"PromQL info: metric might not be a counter", false},
		{"No StoreAPIs matched for this query", false},
		{"results truncated due to limit", true},
		{"receive series from Addr: 10.0.0.1:10901: rpc error: code = Unavailable", true},
		{"remote read: connection refused", true},
		{"something new", true},
	} {
		note, err := sortWarnings([]string{tt.warning})
		if (err != nil) != tt.partial || (note != "") == tt.partial {
			t.Errorf("sortWarnings(%q) = %q, %v", tt.warning, note, err)
		}
	}
	if note, err := sortWarnings(nil); note != "" || err != nil {
		t.Errorf("no warnings = %q, %v", note, err)
	}
}
