package live

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestAProgramThatSetAFieldAloneIsACautionWhateverItsAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 13, 15, 0, 0, time.UTC)
	const (
		alone = `{"f:spec":{"f:replicas":{}}}`
		noted = `{"f:metadata":{"f:annotations":{"f:a":{}}},"f:spec":{"f:replicas":{}}}`
		whole = `{"f:spec":{"f:replicas":{},"f:template":{}}}`
		month = 30 * 24 * time.Hour
	)
	for _, tt := range []struct {
		manager, fields string
		age             time.Duration
		want            string // of the caution; empty: none
	}{
		{"kthena-controller-manager", alone, time.Minute, "kthena-controller-manager set spec.replicas at 13:14:00 UTC"},
		{
			"kthena-controller-manager", alone, month,
			"kthena-controller-manager, a program, set spec.replicas on 2026-10-27 at 13:15 UTC and may set it again",
		},
		{"kthena-controller-manager", noted, month, "a program"},
		{"kthena-controller-manager", whole, month, ""},
		{"kthena-controller-manager", `[`, month, ""},
		{"kubectl-edit", alone, time.Minute, "kubectl-edit set spec.replicas"},
		{"kubectl-edit", alone, month, ""},
		{"kubectl", alone, month, ""},
		{"argocd-application-controller", alone, month, ""},
		{"argocd-controller", alone, month, ""},
		{"kustomize-controller", alone, month, ""},
		{"helm-controller", alone, month, ""},
		{"Helm", alone, month, ""},
		{"kube-controller-manager", alone, month, ""},
		{incident.FieldManager, alone, time.Minute, ""},
		{incident.FieldManager, alone, month, ""},
	} {
		for _, operation := range []metav1.ManagedFieldsOperationType{"Update", "Apply"} {
			o := deployment()
			o.SetGeneration(2)
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{
				Manager: tt.manager, Operation: operation, APIVersion: "apps/v1", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(tt.fields), Time: &metav1.Time{Time: now.Add(-tt.age)},
			}})
			f := Field{
				Object: o, Path: []string{"f:spec", "f:replicas"}, Target: incident.Target{Field: "spec.replicas"},
			}
			got := f.OtherWriter(now)
			if len(got) > 1 || (len(got) == 1) != (tt.want != "") {
				t.Errorf("%s, %s, %s ago: %+v", tt.manager, operation, tt.age, got)
				continue
			}
			if len(got) == 1 && (got[0].Verdict != incident.GuardCaution || !strings.Contains(got[0].Reason, tt.want)) {
				t.Errorf("%s, %s, %s ago: %+v, want %q", tt.manager, operation, tt.age, got[0], tt.want)
			}
			o.SetGeneration(1)
			if got := f.OtherWriter(now); len(got) > 0 {
				t.Errorf("who made the object is taken for one that scales it: %+v", got)
			}
		}
	}
}
