// Package access answers who is asking over HTTP and what they may do: a Kubernetes token by TokenReview with the bot's
// own audience and SubjectAccessReview on the group vllm-medic.io, or the configured viewer token, which may read and
// nothing else. Where it is configured, a person may also show the token or the client certificate that they use with
// the cluster itself.
//
// It fails closed: whatever cannot be asked is a no, with the reason. It keeps no answer about anybody, only which
// credentials were good lately, by their hashes: those are asked about first. It is safe for concurrent use.
package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authn "k8s.io/api/authentication/v1"
	authz "k8s.io/api/authorization/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Group and Resource are what Kubernetes roles name to give people rights on the bot.
const (
	Group    = "vllm-medic.io"
	Resource = "incidents"
)

// Right is what somebody wants to do. The verbs are those of Kubernetes roles on incidents.vllm-medic.io.
type Right struct{ Verb, Subresource string }

// The rights: to read, to decide on steps and incidents, to pause and resume.
var (
	Read   = Right{Verb: "get"}
	Decide = Right{Verb: "update", Subresource: "decision"}
	Pause  = Right{Verb: "update", Subresource: "pause"}
)

// ErrUnauthenticated says that the token is missing or nobody's; ErrForbidden that its owner may not do this.
var (
	ErrUnauthenticated = errors.New("the token is missing, expired, or not for this bot")
	ErrForbidden       = errors.New("not allowed")
)

// refusal is an ErrUnauthenticated in words of its own.
type refusal string

// Error is what the person reads.
func (r refusal) Error() string { return string(r) }

// Is says that it is an ErrUnauthenticated.
func (refusal) Is(target error) bool { return target == ErrUnauthenticated }

// timeout bounds the questions to the API server together.
const timeout = 10 * time.Second

var errNoAnswer = fmt.Errorf("the API server did not answer within %s", timeout)

// authenticated is the group that the API server itself adds for whoever it has authenticated.
const authenticated = "system:authenticated"

// Settings say what opens the gate. The zero value lets nobody in.
type Settings struct {
	// Audience is what a token made for the bot carries; required with Kubernetes.
	Audience string
	// ViewerToken is the token that may read and nothing else, as it is now; nil or empty: there is none.
	ViewerToken func() string
	// ClusterTokens accepts tokens that are for the API server itself, of people only.
	ClusterTokens bool
	// ClientCertificates accepts certificates of the cluster's users. ClientCAFile has the authority that signs them, PEM;
	// empty: the one that the API server publishes.
	ClientCertificates bool
	ClientCAFile       string
}

// Gate checks tokens and certificates. Use New.
type Gate struct {
	// rights asks what a person may do whom Slack knows, published reads an authority. What anybody can send must never
	// keep these waiting, so each has a limit of its own, as each lane of checks has. They are nil without Kubernetes.
	rights    kubernetes.Interface
	checks    *checks
	published published
	settings  Settings
}

// New returns a gate. A nil rc means that no Kubernetes is configured: then only the viewer token, if any, opens it,
// and only to read.
func New(rc *rest.Config, s Settings) (*Gate, error) {
	g := &Gate{settings: s}
	if rc == nil {
		return g, nil
	}
	if s.Audience == "" {
		return nil, errors.New("access: an audience is needed")
	}
	if s.ClientCAFile != "" {
		if _, err := g.authorityFile(); err != nil {
			return nil, err
		}
	}
	var err error
	if g.checks, err = newChecks(rc); err != nil {
		return nil, err
	}
	for _, client := range []*kubernetes.Interface{&g.published.client, &g.rights} {
		if *client, err = limited(rc, 20, 40); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Shown is what somebody shows of who they are: a token, or else a client certificate.
type Shown struct {
	Token string
	// Password says that the token came as one, which a browser keeps and sends by itself: then it must be for the bot.
	Password bool
	// Chain is the certificate and what they sent with it, their own first. That they have its key was proven by the
	// handshake; nothing else about it is believed.
	Chain []*x509.Certificate
	// From is who counts as one sender: the address that it came from, without the port. Checks are shared out among
	// senders.
	From string
}

// Check answers who has shown this, when that person has the right. The error is ErrUnauthenticated, ErrForbidden,
// ErrBusy, that of a context that ended, or what kept the question from being asked, which is a no as well.
func (g *Gate) Check(ctx context.Context, s Shown, right Right) (incident.Actor, error) {
	switch {
	case g.isViewer(s.Token):
		return g.viewerMay(right)
	case s.Token == "" && (len(s.Chain) == 0 || !g.settings.ClientCertificates):
		return incident.Actor{}, ErrUnauthenticated
	case g.rights == nil:
		return incident.Actor{},
			fmt.Errorf("%w: without Kubernetes the bot cannot tell who is asking, so only the viewer token works, and it "+
				"may only read", ErrUnauthenticated)
	}
	if s.Token != "" {
		if err := g.wellFormed(s, time.Now()); err != nil {
			return incident.Actor{}, err
		}
	}
	in, leave, err := g.checks.enter(ctx, s, right)
	if err != nil {
		return incident.Actor{}, err
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, in.within,
		fmt.Errorf("the API server did not answer within %s", in.within))
	defer cancel()
	user, err := g.owner(ctx, in.client, s)
	if err == nil {
		err = may(ctx, in.client, user, right)
	}
	if err == nil || errors.Is(err, ErrUnauthenticated) {
		g.checks.remember(s, err == nil)
	}
	if err != nil {
		return incident.Actor{}, err
	}
	return incident.Actor{Kind: incident.ActorKubernetes, ID: user.Username}, nil
}

func (g *Gate) isViewer(token string) bool {
	if g.settings.ViewerToken == nil {
		return false
	}
	viewer := g.settings.ViewerToken()
	sum, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(viewer))
	return viewer != "" && subtle.ConstantTimeCompare(sum[:], want[:]) == 1
}

func (g *Gate) viewerMay(right Right) (incident.Actor, error) {
	switch {
	case right == Read:
		return incident.Actor{Kind: incident.ActorViewer, ID: "token"}, nil
	case g.rights == nil:
		return incident.Actor{},
			fmt.Errorf("%w: the viewer token may only read, and without Kubernetes the bot cannot tell who is asking; stop "+
				"the bot to stop its writes", ErrForbidden)
	}
	return incident.Actor{}, fmt.Errorf("%w: the viewer token may only read", ErrForbidden)
}

func (g *Gate) owner(ctx context.Context, ask kubernetes.Interface, s Shown) (authn.UserInfo, error) {
	if s.Token != "" {
		return g.user(ctx, ask, s.Token, g.takesClusterTokens(s))
	}
	return g.certified(ctx, s.Chain)
}

// May says whether a user with these groups has the right; nil means yes. Who it is was found out before, by whoever
// asks. The error is ErrForbidden, or what kept the question from being asked, which is a no as well.
func (g *Gate) May(ctx context.Context, user string, groups []string, right Right) error {
	switch {
	case g.rights == nil:
		return errors.New("without Kubernetes nobody's rights can be checked")
	case user == "":
		return fmt.Errorf("%w: no user is named", ErrForbidden)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNoAnswer)
	defer cancel()
	return may(ctx, g.rights, authn.UserInfo{Username: user, Groups: append(slices.Clone(groups), authenticated)}, right)
}

// user is the owner of a token that was made for the bot, or, where clusters is set, of a person's own.
func (g *Gate) user(
	ctx context.Context, ask kubernetes.Interface, token string, clusters bool,
) (authn.UserInfo, error) {
	audience := g.settings.Audience
	got, err := review(ctx, ask, token, audience)
	switch {
	case err != nil:
		return authn.UserInfo{}, err
	case known(got) && slices.Contains(got.Audiences, audience):
		return got.User, nil
	case clusters:
		return g.person(ctx, ask, token)
	case !known(got):
		return authn.UserInfo{}, ErrUnauthenticated
	}
	// An API server that does not know audiences answers without them; such a token was not made for this bot.
	return authn.UserInfo{},
		fmt.Errorf("%w: it lacks the audience %q (kubectl create token --audience %s)", ErrUnauthenticated, audience,
			audience)
}

// person is the owner of a token that is for the API server itself. Those of programs don't count: every pod that has
// one could decide, and so could whoever can read it there.
func (g *Gate) person(ctx context.Context, ask kubernetes.Interface, token string) (authn.UserInfo, error) {
	got, err := review(ctx, ask, token)
	switch {
	case err != nil:
		return authn.UserInfo{}, err
	case !known(got):
		return authn.UserInfo{}, ErrUnauthenticated
	}
	if err := notAPerson(got.User.Username, got.User.Groups); err != nil {
		return authn.UserInfo{},
			fmt.Errorf("%w; it needs a token with the audience %q (kubectl create token NAME --audience %s)", err,
				g.settings.Audience, g.settings.Audience)
	}
	return got.User, nil
}

// components are the names in certificates that kubeadm and its kin make for the API server as a client, and that have
// none of the names that Kubernetes keeps for itself.
var components = []string{"kube-apiserver-kubelet-client", "kube-apiserver-etcd-client", "front-proxy-client"}

// notAPerson refuses the names that Kubernetes keeps for itself: service accounts, nodes, components, and nobody. A
// group of its own is no reason: system:masters is how people administer clusters.
func notAPerson(user string, groups []string) error {
	of := func(g string) bool {
		return g == "system:nodes" || g == "system:unauthenticated" || g == "system:serviceaccounts" ||
			strings.HasPrefix(g, "system:serviceaccounts:") || strings.HasPrefix(g, "system:bootstrappers")
	}
	if strings.HasPrefix(user, "system:") || slices.Contains(components, user) || slices.ContainsFunc(groups, of) {
		return refusal(user + " is an account of Kubernetes and not a person")
	}
	return nil
}

// review asks who a token belongs to. Without audiences it must be for the API server itself.
func review(
	ctx context.Context, ask kubernetes.Interface, token string, audiences ...string,
) (authn.TokenReviewStatus, error) {
	review := &authn.TokenReview{Spec: authn.TokenReviewSpec{Token: token, Audiences: audiences}}
	got, err := ask.AuthenticationV1().TokenReviews().Create(ctx, review, meta.CreateOptions{})
	if err != nil {
		return authn.TokenReviewStatus{}, fmt.Errorf("the token could not be checked: %w", err)
	}
	return got.Status, nil
}

func known(s authn.TokenReviewStatus) bool { return s.Authenticated && s.User.Username != "" }

func may(ctx context.Context, ask kubernetes.Interface, user authn.UserInfo, right Right) error {
	extra := make(map[string]authz.ExtraValue, len(user.Extra))
	for k, v := range user.Extra {
		extra[k] = authz.ExtraValue(v)
	}
	review := &authz.SubjectAccessReview{Spec: authz.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		ResourceAttributes: &authz.ResourceAttributes{
			Group: Group, Resource: Resource, Verb: right.Verb,
			Subresource: right.Subresource,
		},
	}}
	got, err := ask.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, meta.CreateOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("the rights of %s could not be checked: %w", user.Username, err)
	case !got.Status.Allowed || got.Status.Denied:
		resource := Resource
		if right.Subresource != "" {
			resource += "/" + right.Subresource
		}
		return fmt.Errorf("%w: %s needs the right to %s %s.%s", ErrForbidden, user.Username, right.Verb, resource, Group)
	}
	return nil
}
