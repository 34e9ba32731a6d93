package actions_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// simulatedVariable makes this package's tests run on the sandbox's cluster.
const simulatedVariable = "VLLM_MEDIC_TEST_SIMULATED"

func onSimulated() bool { return os.Getenv(simulatedVariable) != "" }

// alike are the tests of the write path: what is proposed, made, refused, lost, changed by others and taken back. With
// simulatedVariable set, go test runs all others on the sandbox's cluster as well; those fail that need admission,
// Roles, service accounts, or that no scheduler is there.
func alike() []string {
	return []string{
		"TestAStepIsProposedMadeSeenAndTakenBack",
		"TestAWriteSaysOnWhichVersionItWasMadeAndWhichItMade",
		"TestTheArgumentsThatAreNotTurnedStayByteForByte",
		"TestAValueThatSomebodyElseChangedIsLeftAlone",
		"TestAValueThatSomebodyElseChangesBetweenTheLookAndTheWriteIsLeftAlone",
		"TestAnObjectThatWasDeletedOrMadeAgainIsLeftAlone",
		"TestAnAutoscalerThatCameSinceTheProposalIsDrift",
		"TestALostAnswerIsUnknownAndTheWriteIsRecognised",
		"TestALostRequestIsUnknownAndTheWriteCanBeMade",
		"TestAValueThatTheSchemaRefusesIsRefusedAndNotDrift",
		"TestAValueOutsideOfTheBoundsIsNotWritten",
		"TestADryRunWritesNothing",
		"TestADryRunSeesDriftToo",
		"TestWithoutTheRightToWriteADryRunGoesOnAndTheRealThingIsRefused",
		"TestAWriteThatWasSetBackIsNotTakenForOneThatDidNotHappen",
		"TestAWriteThatDidNotHappenIsToldFromOneThatWasSetBack",
		"TestAnUndoThatWasSetBackIsNotMadeAgain",
		"TestARolloutIsDoneWhenThePodsAreReady",
		"TestARolloutWhosePodsFindNoNodeIsRunningAndThenFailed",
		"TestTheAutoscalerFollowsTheRaisedMinimum",
		"TestAnAutoscalersMinimumStopsAtItsMaximum",
		"TestTheUndoOfAnAddedFlagKeepsWhatOthersChanged",
	}
}

// The bot writes, refuses to write and takes back on the sandbox's cluster as it does on a real one.
func TestTheWritePathIsTheSameOnTheSandboxsCluster(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	args := []string{"-test.v=true", "-test.parallel=8", "-test.run=^(" + strings.Join(alike(), "|") + ")$"}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) // the program is this test itself
	cmd.Env = append(os.Environ(), simulatedVariable+"=yes")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, failures(out))
	}
	for _, name := range alike() {
		if !bytes.Contains(out, []byte("--- PASS: "+name+" (")) {
			t.Errorf("%s did not run", name)
		}
	}
}

// failures are the lines of a run that say what failed.
func failures(out []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		quiet := []string{"=== ", "--- PASS", "PASS"}
		if !slices.ContainsFunc(quiet, func(p string) bool { return strings.HasPrefix(strings.TrimSpace(line), p) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// sandbox starts a cluster of the test's own, with kwok's node.
func sandbox(t *testing.T) *simulated {
	t.Helper()
	s := &simulated{}
	var err error
	s.server, err = kubeapi.New(kubeapi.Options{Users: []kubeapi.User{
		{Name: kubetest.Admin, Token: "of-admin", Groups: []string{kubeapi.Administrators}},
		{Name: kubetest.Bot, Token: "of-bot"},
		{Name: kubetest.Viewer, Token: "of-viewer"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	acting, err := workloads.New(s.server, workloads.Options{
		Fleet:  &prompt{runs: map[workloads.ID]bool{}},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.address = web.URL
	// As on a cluster without a scheduler, pods that name no node stay pending.
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: kubetest.Node}, Spec: corev1.NodeSpec{Unschedulable: true},
	}
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	if err := kubeapi.Create(s.server.As("test"), nodes, node); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { acting.Run(ctx) })
	t.Cleanup(func() {
		end()
		running.Wait()
	})
	return s
}

// prompt is a fleet in which everything is ready, and ends, at once.
type prompt struct {
	mu   sync.Mutex
	runs map[workloads.ID]bool // whether it was asked to end
}

func (p *prompt) Started(r workloads.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[r.ID()] = false
}

func (p *prompt) Ready(workloads.ID, bool) {}

func (p *prompt) Ending(id workloads.ID, _ time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[id] = true
}

func (p *prompt) Ended(id workloads.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.runs, id)
}

func (p *prompt) State(id workloads.ID) workloads.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs[id] {
		return workloads.State{Ended: &workloads.End{}}
	}
	return workloads.State{Ready: true}
}

// simulated is the sandbox's cluster as the tests use it. It notes every request, as an audit log does.
type simulated struct {
	server  *kubeapi.Server
	address string

	mu    sync.Mutex
	names int
	log   []kubetest.AuditEntry
}

// noted is a response whose code is kept.
type noted struct {
	http.ResponseWriter

	code int
}

func (n *noted) WriteHeader(code int) {
	n.code = code
	n.ResponseWriter.WriteHeader(code)
}

func (s *simulated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	to := &noted{ResponseWriter: w, code: http.StatusOK}
	s.server.ServeHTTP(to, r)
	s.note(r, to.code)
}

func (s *simulated) note(r *http.Request, code int) {
	e := kubetest.AuditEntry{RequestURI: r.URL.RequestURI(), Verb: strings.ToLower(r.Method)}
	if r.Method == http.MethodPost {
		e.Verb = "create"
	}
	e.User.Username = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer of-")
	if as := r.Header.Get("Impersonate-User"); as != "" {
		e.User.Username = as
	}
	e.ResponseStatus = &struct {
		Code int `json:"code"`
	}{code}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "apis" && len(parts) > 2 {
		parts = append([]string{"api", parts[1]}, parts[3:]...)
	}
	at := slices.Index(parts, "namespaces")
	e.ObjectRef = &struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
	}{}
	if len(parts) > 1 {
		e.ObjectRef.APIGroup = parts[1]
	}
	if at > 0 && len(parts) > at+2 {
		rest := append(parts[at+2:], "", "")
		e.ObjectRef.Namespace, e.ObjectRef.Resource = parts[at+1], rest[0]
		e.ObjectRef.Name, e.ObjectRef.Subresource = rest[1], rest[2]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, e)
}

func (s *simulated) Audit(_ testing.TB, user string) []kubetest.AuditEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.log), func(e kubetest.AuditEntry) bool { return e.User.Username != user })
}

func (s *simulated) Writes(t testing.TB, user string) []kubetest.AuditEntry {
	t.Helper()
	return slices.DeleteFunc(s.Audit(t, user), func(e kubetest.AuditEntry) bool {
		return !e.Writing() || e.DryRun() || e.Review()
	})
}

func (s *simulated) InstallCRD(t testing.TB, crds ...kubetest.CRD) {
	t.Helper()
	at := schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	for _, crd := range crds {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal(kubetest.Definition(t, crd), &o.Object); err != nil {
			t.Fatal(err)
		}
		_, err := s.Dynamic(t).Resource(at).Create(t.Context(), &o, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("%s: %v", crd, err)
		}
	}
}

func (s *simulated) Namespace(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	s.names++
	name := fmt.Sprintf("t%d", s.names)
	s.mu.Unlock()
	if err := s.server.MakeNamespace(name); err != nil {
		t.Fatal(err)
	}
	return name
}

func (s *simulated) Grant(_ testing.TB, user, namespace string, rules ...rbacv1.PolicyRule) {
	s.server.Grant(user, namespace, rules...)
}

func (s *simulated) GrantAll(_ testing.TB, user string, rules ...rbacv1.PolicyRule) {
	s.server.Grant(user, "", rules...)
}

func (s *simulated) AdminConfig() *rest.Config { return s.ConfigFor(kubetest.Admin) }

func (s *simulated) ConfigFor(user string) *rest.Config {
	cfg := s.server.Config(s.address, user)
	cfg.WarningHandler = rest.NoWarnings{}
	return cfg
}

func (s *simulated) ConfigAs(user string) *rest.Config {
	cfg := s.AdminConfig()
	cfg.Impersonate.UserName = user
	return cfg
}

func (s *simulated) ConfigWithToken(token string) *rest.Config {
	cfg := s.ConfigFor("")
	cfg.BearerToken = token
	return cfg
}

func (s *simulated) ServiceAccountToken(t testing.TB, _, _ string, _ ...string) string {
	t.Helper()
	t.Fatal("this cluster has no service accounts")
	return ""
}

func (s *simulated) Client(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	k, err := kubernetes.NewForConfig(s.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *simulated) Dynamic(t testing.TB) *dynamic.DynamicClient {
	t.Helper()
	d, err := dynamic.NewForConfig(s.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return d
}
