package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licenses, by their SPDX names, under which others' code may be linked: their terms are met by
// shipping their texts.
var allowed = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "Unlicense", "Zlib",
}

// granted are texts that only add permissions to such a license.
var granted = []string{"GooglePatentsFile"}

// left are files that are not about what is linked, with why.
var left = map[string]string{
	"Go src/crypto/internal/boring/LICENSE": "of BoringCrypto, which is only linked with cgo",
	"modernc.org/memory LICENSE-LOGO":       "of a picture",
}

// read are files that a person has read because they hold more words than licenses, with what they say.
var read = map[string]string{
	"modernc.org/libc LICENSE-3RD-PARTY.md": "translated from Go (BSD-3-Clause) and musl (MIT, BSD-2-Clause, public " +
		"domain)",
}

// covered is how much of a license file has to be text of known licenses, in percent. The rest are names and years.
const covered = 75

// kinds are the licenses that a text is made of, by their SPDX names.
func kinds(s string) (names []string, percent float64) {
	found := licensecheck.Scan([]byte(s))
	for _, m := range found.Match {
		if !m.IsURL && !slices.Contains(names, m.ID) {
			names = append(names, m.ID)
		}
	}
	slices.Sort(names)
	return names, found.Percent
}

// isNotice says whether a file tells something about the code beside its license.
func isNotice(path string) bool {
	base := strings.ToUpper(path[strings.LastIndex(path, "/")+1:])
	return strings.HasPrefix(base, "NOTICE") || strings.HasPrefix(base, "PATENTS") || strings.HasPrefix(base, "COPYRIGHT")
}

// refuse says why parts may not be shipped.
func refuse(parts []part) []error {
	var out []error
	for _, p := range parts {
		licensed := false
		for _, t := range p.texts {
			names, percent := kinds(t.content)
			for _, n := range names {
				if !slices.Contains(allowed, n) && !slices.Contains(granted, n) {
					out = append(out, fmt.Errorf("%s: %s is under %s, which is not on the list of allowed licenses", p.module,
						t.path, n))
				}
			}
			if isNotice(t.path) {
				continue
			}
			licensed = licensed || len(names) > 0
			if percent < covered && read[p.module+" "+t.path] == "" {
				out = append(out, fmt.Errorf("%s: only %.0f%% of %s is the text of a known license; read it", p.module, percent,
					t.path))
			}
		}
		if !licensed {
			out = append(out, fmt.Errorf("%s has no license", p.module))
		}
	}
	return out
}
