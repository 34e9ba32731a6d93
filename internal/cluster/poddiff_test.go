package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestDifference(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	type tpl = corev1.PodTemplateSpec
	args := func(words ...string) func(*tpl) { return func(t *tpl) { t.Spec.Containers[0].Args = words } }
	for _, tt := range []struct {
		name          string
		before, after func(*tpl)
		want          []string
	}{
		{"nothing", func(*tpl) {}, func(*tpl) {}, nil},
		{
			"the image", func(*tpl) {}, func(t *tpl) { t.Spec.Containers[0].Image = "vllm:v2" },
			[]string{"image vllm:v1 -> vllm:v2"},
		},
		{
			"harmless flags have values, others have none",
			args("serve", "m", "--max-num-seqs", "256", "--api-key", secret, "--enforce-eager", "--gone=x", "-tp=2"),
			args("serve", "m", "--max_num_seqs=128", "--api-key", secret+"3", "--enable-prefix-caching", "--chat-template",
				secret, "-tp", "4", "--dtype=half"),
			[]string{
				"--api-key changed", "--chat-template added", "--dtype half added", "--enable-prefix-caching added",
				"--enforce-eager removed", "--gone removed",
				"--max-num-seqs 256 -> 128", "--tensor-parallel-size 2 -> 4",
			},
		},
		{
			"a harmless flag with a value that is none", args("--served-model-name", "a"),
			args("--served-model-name", "hf_abcdefghijklmnopqrst"),
			[]string{"--served-model-name changed"},
		},
		{"a harmless flag with a quote", args("--dtype=a"), args("--dtype=a\"$(X)"), []string{"--dtype changed"}},
		{
			"a secret that begins like a flag", args("--token", "-s"+secret), args("--token", "-t"+secret),
			[]string{"--token changed"},
		},
		{"what is no flag's name", args(), args("--a b " + secret), []string{"a flag added"}},
		{
			"the words before the flags", args("serve", secret), args("serve", "other"),
			[]string{"command or positional arguments changed"},
		},
		{
			"another spelling", args("--max-num-seqs=1"), args("--max_num_seqs", "1"),
			[]string{"the same arguments, written in another way"},
		},
		{
			"on and off", args("--enable-chunked-prefill"), args("--enable-chunked-prefill=false"),
			[]string{"--enable-chunked-prefill on -> false"},
		},
		{
			"a script", args("sh", "-c", "vllm serve --api-key "+secret), args("sh", "-c", "vllm serve"),
			[]string{"command or arguments changed (a script, not shown)"},
		},
		{
			"variables by name",
			func(t *tpl) {
				t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: secret}, {Name: "C"}}
			},
			func(t *tpl) {
				t.Spec.Containers[0].Env = []corev1.EnvVar{
					{Name: "C"},
					{Name: "B", Value: secret + "x"},
					{Name: "HF_TOKEN", Value: secret},
					{Name: "odd name " + secret},
				}
				t.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{Prefix: "x"}}
			},
			[]string{
				"environment variables added: HF_TOKEN, (a name that is not shown)", "environment variables removed: A",
				"environment variables changed: B",
				"sources of environment variables changed",
			},
		},
		{
			"resources",
			func(t *tpl) {
				t.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
					"nvidia.com/gpu": resource.MustParse("4"),
					"memory":         resource.MustParse("64Gi"),
				}
			},
			func(t *tpl) {
				t.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
					"nvidia.com/gpu": resource.MustParse("8"),
					"memory":         resource.MustParse("65536Mi"),
				}
				t.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2")}
			},
			[]string{"limits nvidia.com/gpu 4 -> 8", "requests cpu none -> 2"},
		},
		{
			"a restart", func(*tpl) {}, func(t *tpl) { t.Annotations = map[string]string{restartedAt: "2026"} },
			[]string{"a restart was asked for (kubectl rollout restart)"},
		},
		{
			"other places are named only",
			func(t *tpl) { t.Labels = map[string]string{"pod-template-hash": "a"} },
			func(t *tpl) {
				t.Labels = map[string]string{"pod-template-hash": "b"}
				t.Annotations = map[string]string{"a": secret}
				t.Spec.NodeSelector = map[string]string{"gpu": "h100"}
				t.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 3}
			},
			[]string{"template changed in other places: annotations, livenessProbe of vllm, nodeSelector"},
		},
		{
			"further containers", func(t *tpl) {
				t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "proxy", Image: "p:1"},
					corev1.Container{Name: "old"})
			},
			func(t *tpl) {
				t.Spec.Containers[0].Image = "vllm:v2"
				t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "proxy", Image: "p:2"},
					corev1.Container{Name: "new"})
				t.Spec.InitContainers = []corev1.Container{{Name: "download"}}
			},
			[]string{
				"container new added", "container old removed", "container proxy: image p:1 -> p:2",
				"image vllm:v1 -> vllm:v2", "init container download added",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, after := template("x"), template("x")
			before.Labels, after.Labels = nil, nil
			before.Spec.Containers[0].Image, after.Spec.Containers[0].Image = "vllm:v1", "vllm:v1"
			tt.before(&before)
			tt.after(&after)
			if diff := cmp.Diff(tt.want, difference(&before, &after, "vllm")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestADifferenceIsBounded(t *testing.T) {
	t.Parallel()
	before, after := template("x"), template("x")
	for c := 'a'; c <= 'z'; c++ {
		after.Spec.Containers[0].Args = append(after.Spec.Containers[0].Args, "--flag-"+string(c))
		after.Spec.Containers[0].Env = append(after.Spec.Containers[0].Env, corev1.EnvVar{Name: "V" + string(c)})
	}
	got := difference(&before, &after, "vllm")
	if len(got) != maxListed+2 || got[maxListed] != "and 16 more" ||
		got[maxListed+1] != "environment variables added: Va, Vb, Vc, Vd, Ve, Vf, Vg, Vh, Vi, Vj, and 16 more" {
		t.Errorf("%q", got)
	}
}
