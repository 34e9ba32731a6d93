package kubeapi

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file says what is wrong with objects of Kubernetes' kinds, as far as a client of the sandbox can get it wrong:
// numbers, selectors, names of containers, and what may not change. The API server checks more of a pod's template.

const negative = "must be greater than or equal to 0"

// pullPolicy is when an image is pulled that does not say it.
func pullPolicy(image string) corev1.PullPolicy {
	_, tag, tagged := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !tagged || tag == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func checkDeployment(now, old runtime.Object) field.ErrorList {
	d, ok := now.(*appsv1.Deployment)
	if !ok {
		return nil
	}
	at := field.NewPath("spec")
	all := checkSelected(d.Spec.Selector, &d.Spec.Template, at)
	all = append(all, checkReplicas(d.Spec.Replicas, at.Child("replicas"))...)
	all = append(all, checkStrategy(&d.Spec.Strategy, at.Child("strategy"))...)
	all = append(all, notNegative(int64(d.Spec.MinReadySeconds), at.Child("minReadySeconds"))...)
	if n := d.Spec.ProgressDeadlineSeconds; n != nil {
		all = append(all, notNegative(int64(*n), at.Child("progressDeadlineSeconds"))...)
		if *n <= d.Spec.MinReadySeconds {
			all = append(all, field.Invalid(at.Child("progressDeadlineSeconds"), *n, "must be greater than minReadySeconds"))
		}
	}
	if before, ok := old.(*appsv1.Deployment); ok {
		all = append(all, apivalidation.ValidateImmutableField(d.Spec.Selector, before.Spec.Selector,
			at.Child("selector"))...)
	}
	return all
}

func checkReplicaSet(now, old runtime.Object) field.ErrorList {
	rs, ok := now.(*appsv1.ReplicaSet)
	if !ok {
		return nil
	}
	at := field.NewPath("spec")
	all := checkSelected(rs.Spec.Selector, &rs.Spec.Template, at)
	all = append(all, checkReplicas(rs.Spec.Replicas, at.Child("replicas"))...)
	if before, ok := old.(*appsv1.ReplicaSet); ok {
		all = append(all, apivalidation.ValidateImmutableField(rs.Spec.Selector, before.Spec.Selector,
			at.Child("selector"))...)
	}
	return all
}

func notNegative(n int64, at *field.Path) field.ErrorList {
	if n < 0 {
		return field.ErrorList{field.Invalid(at, n, negative)}
	}
	return nil
}

func checkReplicas(n *int32, at *field.Path) field.ErrorList {
	if n == nil {
		return field.ErrorList{field.Required(at, "")}
	}
	return notNegative(int64(*n), at)
}

// checkSelected says what is wrong with a template and the selector that has to take its pods.
func checkSelected(sel *metav1.LabelSelector, t *corev1.PodTemplateSpec, at *field.Path) field.ErrorList {
	var all field.ErrorList
	if sel == nil {
		all = append(all, field.Required(at.Child("selector"), ""))
	} else {
		all = append(all, metavalidation.ValidateLabelSelector(sel, metavalidation.LabelSelectorValidationOptions{},
			at.Child("selector"))...)
		if len(sel.MatchLabels)+len(sel.MatchExpressions) == 0 {
			all = append(all, field.Invalid(at.Child("selector"), sel, "empty selector is invalid for deployment"))
		}
	}
	if by, err := metav1.LabelSelectorAsSelector(sel); err == nil && !by.Empty() && !by.Matches(labels.Set(t.Labels)) {
		all = append(all, field.Invalid(at.Child("template", "metadata", "labels"), t.Labels,
			"`selector` does not match template `labels`"))
	}
	if p := t.Spec.RestartPolicy; p != corev1.RestartPolicyAlways {
		all = append(all, field.NotSupported(at.Child("template", "spec", "restartPolicy"), p,
			[]corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	return append(all, checkPodSpec(&t.Spec, at.Child("template", "spec"))...)
}

func checkPodSpec(s *corev1.PodSpec, at *field.Path) field.ErrorList {
	var all field.ErrorList
	if len(s.Containers) == 0 {
		all = append(all, field.Required(at.Child("containers"), ""))
	}
	seen := map[string]bool{}
	for _, list := range []struct {
		of []corev1.Container
		at *field.Path
	}{{s.InitContainers, at.Child("initContainers")}, {s.Containers, at.Child("containers")}} {
		for i, c := range list.of {
			all = append(all, checkContainer(c, seen, list.at.Index(i))...)
		}
	}
	if n := s.TerminationGracePeriodSeconds; n != nil {
		all = append(all, notNegative(*n, at.Child("terminationGracePeriodSeconds"))...)
	}
	return all
}

func checkContainer(c corev1.Container, seen map[string]bool, at *field.Path) field.ErrorList {
	var all field.ErrorList
	switch {
	case c.Name == "":
		all = append(all, field.Required(at.Child("name"), ""))
	case len(validation.IsDNS1123Label(c.Name)) > 0:
		all = append(all, field.Invalid(at.Child("name"), c.Name, validation.IsDNS1123Label(c.Name)[0]))
	case seen[c.Name]:
		all = append(all, field.Duplicate(at.Child("name"), c.Name))
	}
	seen[c.Name] = true
	if c.Image == "" {
		all = append(all, field.Required(at.Child("image"), ""))
	}
	for i, p := range c.Ports {
		if len(validation.IsValidPortNum(int(p.ContainerPort))) > 0 {
			all = append(all, field.Invalid(at.Child("ports").Index(i).Child("containerPort"), p.ContainerPort,
				validation.IsValidPortNum(int(p.ContainerPort))[0]))
		}
	}
	for name, most := range c.Resources.Limits {
		least, says := c.Resources.Requests[name]
		if says && least.Cmp(most) > 0 {
			all = append(all, field.Invalid(at.Child("resources", "requests"), least.String(),
				"must be less than or equal to "+string(name)+" limit of "+most.String()))
		}
	}
	return all
}

func checkStrategy(s *appsv1.DeploymentStrategy, at *field.Path) field.ErrorList {
	switch r := s.RollingUpdate; {
	case s.Type == appsv1.RecreateDeploymentStrategyType && r != nil:
		return field.ErrorList{field.Forbidden(at.Child("rollingUpdate"),
			"may not be specified when strategy `type` is 'Recreate'")}
	case s.Type == appsv1.RecreateDeploymentStrategyType:
		return nil
	case s.Type != appsv1.RollingUpdateDeploymentStrategyType:
		return field.ErrorList{field.NotSupported(at.Child("type"), s.Type, []appsv1.DeploymentStrategyType{
			appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType,
		})}
	case r == nil:
		return field.ErrorList{field.Required(at.Child("rollingUpdate"), "this should be defaulted and never be nil")}
	}
	at = at.Child("rollingUpdate")
	missing, bad := share(s.RollingUpdate.MaxUnavailable, at.Child("maxUnavailable"))
	surge, more := share(s.RollingUpdate.MaxSurge, at.Child("maxSurge"))
	if bad = append(bad, more...); len(bad) > 0 {
		return bad
	}
	if missing == 0 && surge == 0 {
		return field.ErrorList{field.Invalid(at.Child("maxUnavailable"), s.RollingUpdate.MaxUnavailable,
			"may not be 0 when `maxSurge` is 0")}
	}
	const whole = 100
	if s.RollingUpdate.MaxUnavailable.Type == intstr.String && missing > whole {
		return field.ErrorList{field.Invalid(at.Child("maxUnavailable"), s.RollingUpdate.MaxUnavailable,
			"must not be greater than 100%")}
	}
	return nil
}

// share reads a number, or a number of percent.
func share(v *intstr.IntOrString, at *field.Path) (int, field.ErrorList) {
	if v.Type == intstr.Int {
		return v.IntValue(), notNegative(int64(v.IntVal), at)
	}
	text, percent := strings.CutSuffix(v.StrVal, "%")
	n, err := strconv.Atoi(text)
	if err != nil || !percent || n < 0 {
		return 0, field.ErrorList{field.Invalid(at, v, "a valid percent string must be a numeric string followed by an "+
			"ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')")}
	}
	return n, nil
}

// checkPod refuses a change of what a pod is: its images, its grace period when it goes, and further tolerations apart,
// none of its specification may change.
func checkPod(now, old runtime.Object) field.ErrorList {
	p, ok := now.(*corev1.Pod)
	if !ok {
		return nil
	}
	at := field.NewPath("spec")
	all := checkPodSpec(&p.Spec, at)
	before, ok := old.(*corev1.Pod)
	if !ok {
		return all
	}
	same := p.Spec.DeepCopy()
	if len(same.Containers) == len(before.Spec.Containers) {
		for i := range same.Containers {
			same.Containers[i].Image = before.Spec.Containers[i].Image
		}
	}
	same.Tolerations, same.ActiveDeadlineSeconds = before.Spec.Tolerations, before.Spec.ActiveDeadlineSeconds
	if before.Spec.NodeName == "" {
		same.NodeName = "" // a scheduler binds it once
	}
	if !equality.Semantic.DeepEqual(*same, before.Spec) {
		all = append(all, field.Forbidden(at, "pod updates may not change fields other than "+
			"`spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, "+
			"`spec.tolerations` (only additions to existing tolerations)"))
	}
	return all
}

func checkEvent(now, _ runtime.Object) field.ErrorList {
	e, ok := now.(*corev1.Event)
	if !ok {
		return nil
	}
	of := e.InvolvedObject.Namespace
	if of != "" && of != e.Namespace || of == "" && e.Namespace != metav1.NamespaceDefault {
		return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), of,
			"does not match event.namespace")}
	}
	return nil
}

func checkAutoscaler(now, _ runtime.Object) field.ErrorList {
	h, ok := now.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return nil
	}
	at := field.NewPath("spec")
	var all field.ErrorList
	if n := h.Spec.MinReplicas; n != nil && *n < 1 {
		all = append(all, field.Invalid(at.Child("minReplicas"), *n, "must be greater than or equal to 1"))
	}
	if h.Spec.MaxReplicas < 1 {
		all = append(all, field.Invalid(at.Child("maxReplicas"), h.Spec.MaxReplicas, "must be greater than 0"))
	}
	if n := h.Spec.MinReplicas; n != nil && h.Spec.MaxReplicas < *n {
		all = append(all, field.Invalid(at.Child("maxReplicas"), h.Spec.MaxReplicas,
			"must be greater than or equal to `minReplicas`"))
	}
	for name, value := range map[string]string{"kind": h.Spec.ScaleTargetRef.Kind, "name": h.Spec.ScaleTargetRef.Name} {
		if value == "" {
			all = append(all, field.Required(at.Child("scaleTargetRef", name), ""))
		}
	}
	return all
}
