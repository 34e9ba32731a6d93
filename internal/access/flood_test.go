package access_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/access"
)

// jwt is a token of that subject, with the form of one that the API server could have made. Its signature is the first
// three letters of the subject.
func jwt(subject string) string {
	part := func(json string) string { return base64.RawURLEncoding.EncodeToString([]byte(json)) }
	return part(`{"alg":"RS256","kid":"k"}`) + "." +
		part(`{"aud":["`+audience+`"],"exp":4102444800,"sub":"`+subject+`"}`) + "." + subject[:3]
}

// paced is an API server that takes some time for each answer. It knows the tokens that ana has signed.
type paced struct {
	takes                   time.Duration
	asked, together, atMost atomic.Int64
}

func (p *paced) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p.asked.Add(1)
	now := p.together.Add(1)
	defer p.together.Add(-1)
	for most := p.atMost.Load(); now > most && !p.atMost.CompareAndSwap(most, now); most = p.atMost.Load() {
		continue
	}
	select {
	case <-time.After(p.takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	answer := review(`{"authenticated":false}`)
	switch {
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		answer = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}}`
	case strings.Contains(string(body), ".ana"):
		answer = review(`{"authenticated":true,"user":{"username":"ana"},"audiences":["` + audience + `"]}`)
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}, nil
}

func pacedGate(t *testing.T, api http.RoundTripper, s access.Settings) *access.Gate {
	t.Helper()
	s.Audience = audience
	g, err := access.New(&rest.Config{Host: "http://api.example.com", Transport: api}, s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// flood shows garbage in the form of tokens until it is stopped: so many at the same time, from these addresses.
func flood(t *testing.T, g *access.Gate, inFlight, addresses int, aim access.Right) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	var shown sync.WaitGroup
	for worker := range inFlight {
		shown.Go(func() {
			from := fmt.Sprintf("192.0.2.%d", worker%addresses)
			for ctx.Err() == nil {
				garbage := access.Shown{Token: jwt(fmt.Sprintf("nobody-%d", n.Add(1))), From: from}
				if who, err := g.Check(ctx, garbage, aim); err == nil {
					t.Errorf("garbage is %s", who)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	return func() { cancel(); shown.Wait() }
}

// Anybody who reaches the bot can show it garbage that looks like a token. A person whom this process has never seen
// decides and pauses nonetheless, every time: from an address of their own, and through the proxy that hands on the
// garbage, too.
func TestAFloodOfGarbageLetsAPersonIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                string
		inFlight, addresses int
		from                string
	}{
		{"of one address", 32, 1, "198.51.100.7"},
		{"of four addresses", 32, 4, "198.51.100.7"},
		{"of forty addresses", 320, 40, "198.51.100.7"},
		{"through the same proxy", 32, 1, "192.0.2.0"},
		{"of forty addresses, one of them the person's", 320, 40, "192.0.2.0"},
	} {
		for _, aim := range []access.Right{access.Decide, access.Pause} {
			for takes, people := range map[time.Duration]bool{2 * time.Millisecond: false, 50 * time.Millisecond: true} {
				t.Run(fmt.Sprintf("%s, at %s, %s", tt.name, aim.Subresource, takes), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						g := pacedGate(t, &paced{takes: takes}, access.Settings{ClusterTokens: people}) // with it, garbage costs two
						defer flood(t, g, tt.inFlight, tt.addresses, aim)()
						time.Sleep(500 * time.Millisecond)
						var answered atomic.Int64
						for batch := range 5 {
							var people sync.WaitGroup
							for n := range 6 {
								people.Go(func() {
									right := []access.Right{access.Decide, access.Pause}[n%2]
									mine := access.Shown{Token: jwt(fmt.Sprintf("ana-%d-%d", batch, n)), From: tt.from}
									if _, err := g.Check(t.Context(), mine, right); err != nil {
										t.Errorf("%v: %v", right, err)
										return
									}
									answered.Add(1)
								})
							}
							people.Wait()
						}
						if got := answered.Load(); got != 30 {
							t.Errorf("%d of 30 were answered", got)
						}
					})
				})
			}
		}
	}
}

// What the flood costs the API server is bounded: how many questions at the same time, and how many in a second.
func TestAFloodCostsTheAPIServerABoundedNumberOfQuestions(t *testing.T) {
	t.Parallel()
	const places, perSecond = 64, 200
	for _, takes := range []time.Duration{time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			api := &paced{takes: takes}
			g := pacedGate(t, api, access.Settings{ClusterTokens: true})
			defer flood(t, g, 1000, 100, access.Decide)()
			time.Sleep(5 * time.Second)
			if most := api.atMost.Load(); most > places {
				t.Errorf("%d questions at the same time", most)
			}
			before := api.asked.Load()
			time.Sleep(4 * time.Second)
			if asked := api.asked.Load() - before; asked > 4*perSecond+1 {
				t.Errorf("%d questions in four seconds", asked)
			}
		})
	}
}

// Of what was good lately nothing is believed: it is asked about again each time, ahead of what nobody knows.
func TestWhatWasGoodLatelyIsAskedAheadOfTheUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &paced{takes: 10 * time.Millisecond}
		g := pacedGate(t, api, access.Settings{})
		mine := access.Shown{Token: jwt("ana-1"), From: "192.0.2.1"}
		if _, err := g.Check(t.Context(), mine, access.Decide); err != nil {
			t.Fatal(err)
		}
		defer flood(t, g, 2000, 1, access.Decide)() // through the same proxy: more than is answered within the wait
		time.Sleep(5 * time.Second)
		for range 30 {
			begin := time.Now()
			if _, err := g.Check(t.Context(), mine, access.Decide); err != nil {
				t.Errorf("known: %v", err)
			}
			if took := time.Since(begin); took > 100*time.Millisecond {
				t.Errorf("whoever is known waited for %s", took)
			}
		}
	})
}

// What cannot be a token is refused before the API server is asked, and takes nobody's place.
func TestWhatIsNoTokenIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	part := func(json string) string { return base64.RawURLEncoding.EncodeToString([]byte(json)) }
	head, claims, sign := part(`{"alg":"RS256"}`), part(`{"sub":"a"}`), part("s")
	expired := part(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(-time.Hour).Unix()))
	// The cases may have to wait for other tests, so what expired lately is made when it is shown.
	const lately = "LATELY"
	opaque := "sha256~0123456789abcdef"
	for name, tt := range map[string]struct {
		token string
		// people says that tokens of the cluster are taken; password that it came as one.
		people, password bool
		asked            bool
	}{
		"a token":                       {token: head + "." + claims + "." + sign, asked: true},
		"a token as a password":         {token: head + "." + claims + "." + sign, password: true, asked: true},
		"expired":                       {token: head + "." + expired + "." + sign},
		"expired, of the cluster":       {token: head + "." + expired + "." + sign, people: true},
		"expired by clocks that differ": {token: head + "." + lately + "." + sign, asked: true},
		"a word":                        {token: "garbage"},
		"another form":                  {token: opaque},
		"another form, of the cluster":  {token: opaque, people: true, asked: true},
		"the same as a password":        {token: opaque, people: true, password: true},
		"two parts":                     {token: head + "." + claims},
		"four parts":                    {token: head + "." + claims + "." + sign + "." + sign},
		"no signature":                  {token: head + "." + claims + "."},
		"no base64":                     {token: head + "." + claims + ".!"},
		"a header that is no object":    {token: part(`[]`) + "." + claims + "." + sign},
		"a header of nothing":           {token: part(`{}`) + "." + claims + "." + sign},
		"claims that are no object":     {token: head + "." + part(`"x"`) + "." + sign},
		"an expiry that is no number":   {token: head + "." + part(`{"exp":"never"}`) + "." + sign},
		"an audience that is none":      {token: head + "." + part(`{"aud":7}`) + "." + sign},
		"a line break":                  {token: opaque + "\n", people: true},
		"not ASCII":                     {token: opaque + "ü", people: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &paced{}
			g := pacedGate(t, api, access.Settings{ClusterTokens: tt.people})
			tt.token = strings.Replace(tt.token, lately,
				part(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(-time.Minute).Unix())), 1)
			_, err := g.Check(t.Context(), access.Shown{Token: tt.token, Password: tt.password}, access.Read)
			if !errors.Is(err, access.ErrUnauthenticated) || strings.Contains(err.Error(), tt.token) {
				t.Errorf("answered %v", err)
			}
			if asked := api.asked.Load() > 0; asked != tt.asked {
				t.Errorf("the API server was asked: %v", asked)
			}
			if malformed := errors.Is(err, access.ErrMalformed); malformed == tt.asked {
				t.Errorf("refused for its form: %v, %v", malformed, err)
			}
		})
	}
}
