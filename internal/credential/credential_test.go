package credential

import (
	"fmt"
	"strings"
	"testing"
)

func TestCredentialsAreWholeAndNeverShown(t *testing.T) {
	t.Parallel()
	const secret, short = "s3cr3t-of-this-test", "s3cr3t-of-tests"
	tests := []struct {
		name  string
		c     Credential
		none  bool
		whole bool
	}{
		{"nothing", Credential{}, true, true},
		{"a token", Credential{BearerToken: secret}, false, true},
		{"a user and a password", Credential{User: "am", Password: secret}, false, true},
		{"both", Credential{BearerToken: secret, User: "am", Password: secret}, false, false},
		{"a user alone", Credential{User: "am"}, false, false},
		{"a name in a certificate", Credential{ClientNames: []string{"am"}}, false, true},
		{"a token that can be guessed", Credential{BearerToken: short}, false, false},
		{"a password that can be guessed", Credential{User: "am", Password: short}, false, false},
		{"a password alone", Credential{Password: secret}, true, false},
	}
	for _, tt := range tests {
		if tt.c.None() != tt.none || (tt.c.Validate() == nil) != tt.whole {
			t.Errorf("%s: none %v, valid: %v", tt.name, tt.c.None(), tt.c.Validate())
		}
		for _, f := range []string{"%v", "%+v", "%#v", "%s"} {
			if out := fmt.Sprintf(f, tt.c); strings.Contains(out, "s3cr3t") {
				t.Errorf("%s: %s shows the secret: %s", tt.name, f, out)
			}
		}
	}
}
