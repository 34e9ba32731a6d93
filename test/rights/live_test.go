package rights

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/identity"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// botsRoles are those of a bot that may write.
func botsRoles(t *testing.T) map[string][]rbacv1.PolicyRule {
	t.Helper()
	return rolesOf(grants(t, incident.ModeApprove))
}

// flat are the single rights of rules, without the names of objects.
func flat(roles map[string][]rbacv1.PolicyRule) map[authorizationv1.ResourceAttributes]bool {
	out := map[authorizationv1.ResourceAttributes]bool{}
	for namespace, rules := range roles {
		for _, r := range rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						of, sub, _ := strings.Cut(resource, "/")
						out[authorizationv1.ResourceAttributes{
							Verb: verb, Group: group, Resource: of, Subresource: sub,
							Namespace: namespace,
						}] = true
					}
				}
			}
		}
	}
	return out
}

// checked is what check --live says of Kubernetes to an account with these rules, by Where.
func checked(t *testing.T, c *kubetest.Cluster, namespace, pools string,
	roles map[string][]rbacv1.PolicyRule,
) map[string]app.Finding {
	t.Helper()
	rc := accountWith(t, c, namespace, "bot", roles)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {
			Server: rc.Host, CertificateAuthorityData: rc.CAData,
			CertificateAuthority: rc.CAFile,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {Token: rc.BearerToken}},
		Contexts:  map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "x",
	}, kubeconfig))
	cat, err := catalog.Load(playbooks.Options{})
	must(t, err)
	path := filepath.Join(t.TempDir(), "medic.yaml")
	must(t, os.WriteFile(path, []byte(fmt.Sprintf(`
listen: {api: "127.0.0.1:0", tls: {api: {cert_file: none, key_file: none}}}
prometheus: {url: "http://127.0.0.1:1", timeout: 1s, deadline: 2s}
mode: approve
kubernetes: {kubeconfig: %q}
pools:
%s`, kubeconfig, strings.ReplaceAll(pools, "NS", namespace))), 0o600))
	cfg, err := config.Load(path, config.Options{Profiles: cat})
	must(t, err)
	found, err := app.Live(context.WithoutCancel(t.Context()),
		app.Options{Config: cfg, Catalog: cat, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	out := map[string]app.Finding{}
	for _, f := range found {
		out[f.Where] = f
	}
	return out
}

const serving = `{name: vllm, image: "vllm/vllm-openai:v0.20.0", args: ["--max-num-batched-tokens=8192", ` +
	`"--max-num-seqs=256", "--enable-chunked-prefill"]}`

// deploy makes a Deployment of two replicas with one container.
func deploy(t *testing.T, c *kubetest.Cluster, namespace, name, annotations, container string) {
	t.Helper()
	var o map[string]any
	must(t, yaml.Unmarshal([]byte(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, annotations: {%s}}
spec:
  replicas: 2
  selector: {matchLabels: {app: %s}}
  template: {metadata: {labels: {app: %s}}, spec: {containers: [%s]}}`, name, annotations, name, name, container)), &o))
	where := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	_, err := c.Dynamic(t).Resource(where).Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: o},
		metav1.CreateOptions{})
	must(t, err)
}

func TestCheckLiveProposesEachKnob(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	c.InstallCRD(t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects, kubetest.PodAutoscalers)
	ns := c.Namespace(t)
	deploy(t, c, ns, "plain", "", serving)
	deploy(t, c, ns, "full", "", serving)
	deploy(t, c, ns, "argo", `"argocd.argoproj.io/tracking-id": "models:apps/Deployment:llm/argo"`, serving)
	deploy(t, c, ns, "shell", "",
		`{name: vllm, image: x, command: [sh, -c, "vllm serve m --max-num-batched-tokens 8192"]}`)
	got := checked(t, c, ns, `
  - {name: plain, match: {a: plain}, matchers: {a: plain},
     workload: {apiVersion: apps/v1, kind: Deployment, namespace: NS, name: plain, container: vllm},
     knobs: {replicas: {min: 1, max: 4}, max_num_batched_tokens: {min: 2048, max: 16384},
       throttle: {kind: envoy-gateway, namespace: NS, name: gone, field: maxParallelRequests, min: 16, max: 1024}}}
  - {name: argo, match: {a: argo}, matchers: {a: argo},
     workload: {apiVersion: apps/v1, kind: Deployment, namespace: NS, name: argo, container: vllm},
     knobs: {replicas: {min: 1, max: 4}}}
  - {name: full, match: {a: full}, matchers: {a: full},
     workload: {apiVersion: apps/v1, kind: Deployment, namespace: NS, name: full, container: vllm},
     knobs: {replicas: {min: 1, max: 2}}}
  - {name: shell, match: {a: shell}, matchers: {a: shell},
     workload: {apiVersion: apps/v1, kind: Deployment, namespace: NS, name: shell, container: vllm},
     knobs: {max_num_batched_tokens: {min: 2048, max: 16384}}}
  - {name: kserve, match: {a: kserve}, matchers: {a: kserve},
     workload: {apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, namespace: NS, name: m, container: vllm},
     knobs: {replicas: {min: 1, max: 4}}}
`, ofAllObjects(botsRoles(t)))
	for where, want := range map[string]struct {
		good, caution bool
		text, more    string
	}{
		"knob replicas, pool plain": {
			true, false,
			"Deployment " + ns + "/plain spec.replicas (scale): 2 now, 3 accepted as a dry run", "owner: ",
		},
		"knob max_num_batched_tokens, pool plain": {
			true, false,
			"args[vllm] --max-num-batched-tokens: 8192 now, 4096 accepted as a dry run", "owner: ",
		},
		"knob throttle, pool plain": {
			false, false, "can't be adjusted: BackendTrafficPolicy",
			"apiVersion: gateway.envoyproxy.io/v1alpha1",
		},
		"permissions, pool plain": {
			true, false,
			"all that mode approve needs for replicas, max_num_batched_tokens; nothing was asked for the knobs that can't " +
				"be adjusted", "",
		},
		"knob replicas, pool argo": {
			true, true, "2 now, 3 accepted as a dry run",
			"caution: Argo CD application models",
		},
		"permissions, pool argo": {true, false, "all that mode approve needs", ""},
		"knob replicas, pool full": {
			true, false,
			"can be adjusted, but not right now: already at the limit: 2 (the maximum is 2)", "",
		},
		"knob max_num_batched_tokens, pool shell": {false, false, "can't be adjusted: ", ""},
		"permissions, pool shell": {
			true, false,
			"all that reading needs; nothing was asked for the knobs that can't be adjusted", "",
		},
		"knob replicas, pool kserve": {false, false, "can't be adjusted: this cluster has no kind InferenceService", ""},
		"permissions, users":         {true, false, "approvals, pauses and reads with a Kubernetes token work", ""},
	} {
		f, ok := got[where]
		more := strings.Join(f.More, "\n")
		if !ok || f.Good != want.good || f.Caution != want.caution || !strings.Contains(f.Text, want.text) ||
			!strings.Contains(more, want.more) {
			t.Errorf("%s: %+v, want %+v", where, f, want)
		}
	}
}

// Each right that is missing is named, with what does not work without it; those that the bot can do without are notes.
func TestCheckLiveNamesEveryMissingRight(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	c.InstallCRD(t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects, kubetest.PodAutoscalers)
	registry, err := actions.New(actions.Config{}, c.AdminConfig(), slog.New(slog.DiscardHandler))
	must(t, err)
	const pools = `
  - {name: plain, match: {a: plain}, matchers: {a: plain},
     workload: {apiVersion: apps/v1, kind: Deployment, namespace: NS, name: plain, container: vllm},
     knobs: {replicas: {min: 1, max: 4}, max_num_batched_tokens: {min: 2048, max: 16384}}}
  - {name: dry-run, mode: dry-run, match: {a: dry-run}, matchers: {a: dry-run},
     workload: {apiVersion: apps/v1, kind: Deployment, namespace: NS, name: dry-run, container: vllm},
     knobs: {replicas: {min: 1, max: 4}}}
`
	p := pool()
	p.Workload.Name, p.Knobs.Throttle = "plain", nil
	for name, tt := range map[string]struct {
		// has says whether the account has a right.
		has  func(app.Right) bool
		good bool
	}{
		"nobody":                 {func(app.Right) bool { return false }, false},
		"without what is marked": {func(r app.Right) bool { return !r.Optional }, true},
		"without writes":         {func(r app.Right) bool { return r.Verb != "patch" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := c.Namespace(t)
			deploy(t, c, ns, "plain", "", serving)
			deploy(t, c, ns, "dry-run", "", serving)
			p := p
			p.Workload.Namespace = ns
			rights, err := app.Rights(t.Context(), registry, p)
			must(t, err)
			rights = append(rights, app.PeopleRights()...)
			roles := map[string][]rbacv1.PolicyRule{}
			for _, r := range rights {
				if tt.has(r) {
					in, resource := r.Namespace, strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
					if in == ns {
						in = "llm"
					}
					roles[in] = append(roles[in], rule(r.Group, resource, r.Verb))
				}
			}
			got := checked(t, c, ns, pools, roles)
			of := got["permissions, pool plain"]
			said := strings.Join(append(slices.Clone(of.More), got["permissions, users"].More...), "\n")
			for _, r := range rights {
				if line := actions.RightText(r.ResourceAttributes) + ". Without it, " +
					r.Without; strings.Contains(said, line) == tt.has(r) {
					t.Errorf("it has it: %v. %s\n%s", tt.has(r), line, said)
				}
			}
			if of.Good != tt.good || of.Caution != tt.good {
				t.Errorf("%+v", of)
			}
			if next := "; apply what vllm-medic rbac --config "; strings.Contains(of.Text, next) == tt.good ||
				!tt.good && !strings.HasSuffix(of.Text, "medic.yaml prints") {
				t.Errorf("the next step: %q", of.Text)
			}
			if name != "without writes" {
				return
			}
			for where, want := range map[string]string{
				"knob replicas, pool plain": "2 now, 3 proposed; diff not checked by the API server\nrefused: the bot lacks " +
					"permission to patch deployments.apps/scale",
				"knob replicas, pool dry-run": "2 now, 3 proposed; diff not checked by the API server\ncaution: the bot lacks " +
					"permission to patch deployments.apps/scale",
			} {
				f := got[where]
				if text := f.Text + "\n" +
					strings.Join(f.More, "\n"); !strings.Contains(strings.ReplaceAll(text, ownerLine(f), ""), want) ||
					f.Good != f.Caution {
					t.Errorf("%s: %+v, want %q", where, f, want)
				}
			}
		})
	}
}

// ownerLine is the line of a finding about who owns the field, with its end.
func ownerLine(f app.Finding) string {
	for _, line := range f.More {
		if strings.HasPrefix(line, "owner: ") {
			return line + "\n"
		}
	}
	return ""
}

// Whether people's certificates can be checked is found out before somebody needs to decide with one.
func TestCheckLiveReadsTheAuthorityOfCertificates(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	const pools = "  - {name: none, match: {a: none}, matchers: {a: none}}\n"
	const where = "kubernetes, client certificates"
	if f, asked := checked(t, c, c.Namespace(t), pools, nil)[where]; asked {
		t.Errorf("nobody wants certificates: %+v", f)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	_, err := identity.NewAuthority(filepath.Dir(file), "ca")
	must(t, err)
	for with, want := range map[string]struct {
		good, fatal bool
		text        string
	}{
		"": {text: "the bot lacks permission to get the ConfigMap kube-system/extension-apiserver-authentication; " +
			"apply what vllm-medic rbac prints"},
		", client_ca_file: " + file:       {good: true, text: "approvals, pauses and reads with one work"},
		", client_ca_file: /no/such/file": {fatal: true, text: "access.client_ca_file: stat /no/such/file"},
	} {
		f := checked(t, c, c.Namespace(t), pools+"access: {client_certificates: true"+with+"}\n", nil)[where]
		if f.Good != want.good || f.Fatal != want.fatal || !strings.Contains(f.Text, want.text) {
			t.Errorf("with %q: %+v", with, f)
		}
	}
}
