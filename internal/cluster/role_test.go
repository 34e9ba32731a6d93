package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestAPodsRoleIsToldByItsLabelsElseByItsArguments(t *testing.T) {
	t.Parallel()
	const prefill, decode = incident.RolePrefill, incident.RoleDecode
	const consumer = `{"kv_role": "kv_consumer"}`
	label := func(key, value string) map[string]string { return map[string]string{key: value} }
	transfer := func(role string) []string {
		return []string{"--model=m", `--kv-transfer-config={"kv_connector":"P2pNcclConnector","kv_role":"` + role + `"}`}
	}
	for name, tt := range map[string]struct {
		labels map[string]string
		args   []string
		want   incident.Role
	}{
		"llm-d":  {labels: map[string]string{"llm-d.ai/role": "prefill"}, want: prefill},
		"Dynamo": {labels: label("nvidia.com/dynamo-sub-component-type", "decode"), want: decode},
		"AIBrix": {labels: map[string]string{"role-name": "prefill"}, want: prefill},
		"a label before arguments": {
			labels: label("llm-d.ai/role", "decode"), args: transfer("kv_producer"), want: decode,
		},
		"producer":                       {args: transfer("kv_producer"), want: prefill},
		"consumer":                       {args: transfer("kv_consumer"), want: decode},
		"two words":                      {args: []string{"--kv-transfer-config", consumer}, want: decode},
		"underscores":                    {args: []string{"--kv_transfer_config", consumer}, want: decode},
		"both":                           {args: transfer("kv_both")},
		"both by its label":              {labels: map[string]string{"llm-d.ai/role": "prefill-decode"}},
		"a name that somebody chose":     {labels: map[string]string{"role-name": "worker"}},
		"labels that contradict":         {labels: map[string]string{"llm-d.ai/role": "decode", "role-name": "prefill"}},
		"no JSON":                        {args: []string{"--kv-transfer-config=producer"}},
		"a part is set beside it":        {args: append(transfer("kv_producer"), "--kv-transfer-config.kv_role=kv_consumer")},
		"a variable":                     {args: []string{"--kv-transfer-config=$(TRANSFER)"}},
		"a file that may hold arguments": {args: append(transfer("kv_producer"), "--config=/etc/vllm.yaml")},
		"nothing":                        {},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: tt.labels}}
		pod.Spec.Containers = []corev1.Container{
			{Name: "vllm", Command: []string{"vllm", "serve"}, Args: tt.args}, {Name: "proxy", Args: transfer("kv_consumer")},
		}
		if got := roleOf(&pod, "vllm"); got != tt.want {
			t.Errorf("%s: the role is %q; want %q", name, got, tt.want)
		}
	}
}
