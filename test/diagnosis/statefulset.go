package diagnosis

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// owner is what made the pods: the newest ReplicaSet, or the StatefulSet itself.
func (inc *Incident) owner() metav1.OwnerReference {
	yes := true
	if inc.Workload == "StatefulSet" {
		return metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: "StatefulSet", Name: model, UID: uid("statefulset"),
			Controller: &yes,
		}
	}
	name := model + "-" + hashNew
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: uid(name), Controller: &yes}
}

func (inc *Incident) statefulSet() *appsv1.StatefulSet {
	want, ready := inc.replicas(), inc.ready()
	newest := model + "-" + hashNew
	return &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{Kind: "StatefulSet", APIVersion: "apps/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: model, Namespace: namespace, UID: uid("statefulset"), Generation: 3, ResourceVersion: "1202",
			CreationTimestamp: inc.ago(age), Labels: selected(),
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &want, ServiceName: model, Selector: &metav1.LabelSelector{MatchLabels: selected()},
			Template: inc.template(inc.newImage(), ""),
		},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: 3, Replicas: want, ReadyReplicas: ready, AvailableReplicas: ready, UpdatedReplicas: want,
			CurrentReplicas: want,
			CurrentRevision: newest, UpdateRevision: newest,
		},
	}
}

// revisions are what a StatefulSet keeps of its templates: a patch with the whole template, as its controller writes
// it.
func (inc *Incident) revisions() []*appsv1.ControllerRevision {
	yes := true
	revision := func(hash, image string, n int64, born seconds) *appsv1.ControllerRevision {
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": inc.template(image, "")}})
		if err != nil {
			patch = nil // a template of our own always marshals
		}
		return &appsv1.ControllerRevision{
			TypeMeta: metav1.TypeMeta{Kind: "ControllerRevision", APIVersion: "apps/v1"},
			ObjectMeta: metav1.ObjectMeta{
				Name: model + "-" + hash, Namespace: namespace, UID: uid(model + "-" + hash), CreationTimestamp: inc.ago(born),
				Labels: selected(),
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "StatefulSet", Name: model,
					UID: uid("statefulset"), Controller: &yes,
				}},
			},
			Data: runtime.RawExtension{Raw: patch}, Revision: n,
		}
	}
	return []*appsv1.ControllerRevision{
		revision(hashOld, inc.image(), 2, age),
		revision(hashNew, inc.newImage(), 3, inc.newest()),
	}
}
