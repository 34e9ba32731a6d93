{{/*
The permissions that config needs: one on each line, as namespace|group|resource|verb|name|optional. They are those of
vllm-medic rbac and of check --live, in Go internal/app/liverights.go; a test compares the two.
*/}}
{{- define "vllm-medic.rights" -}}
{{- if and (not .Values.existingConfigMap) (not (kindIs "invalid" .Values.config.kubernetes)) }}
:reviews|authentication.k8s.io|tokenreviews|create||
:reviews|authorization.k8s.io|subjectaccessreviews|create||
{{- range $p := .Values.config.pools }}
{{- $mode := $p.mode | default $.Values.config.mode | default "dry-run" }}
{{- $writes := and (has $mode (list "approve" "auto")) (not $.Values.dryRun) }}
{{- $w := default dict $p.workload }}
{{- if $w }}
{{- include "vllm-medic.evidenceRights" (dict "root" $ "w" $w) }}
{{- end }}
{{- range $kind, $knob := $p.knobs }}
{{- if not $knob }}
{{- else if eq $kind "throttle" }}
{{- include "vllm-medic.throttleRights" (dict "p" $p "k" $knob "writes" $writes) }}
{{- else if eq $kind "replicas" }}
{{- include "vllm-medic.replicaRights" (dict "root" $ "w" $w "writes" $writes "autoscaler" $p.autoscaler) }}
{{- else }}
{{- include "vllm-medic.argumentRights" (dict "root" $ "w" $w "writes" $writes) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The API group of a workload. */}}
{{- define "vllm-medic.group" -}}
{{- if contains "/" .apiVersion }}{{ index (splitList "/" .apiVersion) 0 }}{{ end -}}
{{- end -}}

{{/* The resource of a workload's kind. */}}
{{- define "vllm-medic.resource" -}}
{{- $known := dict
  "DaemonSet.apps" "daemonsets"
  "Deployment.apps" "deployments"
  "ReplicaSet.apps" "replicasets"
  "StatefulSet.apps" "statefulsets"
  "DisaggregatedSetRoleScaler.disaggregatedset.x-k8s.io" "disaggregatedsetrolescalers"
  "DynamoGraphDeploymentScalingAdapter.nvidia.com" "dynamographdeploymentscalingadapters"
  "LeaderWorkerSet.leaderworkerset.x-k8s.io" "leaderworkersets"
  "Model.kubeai.org" "models"
  "ModelServing.workload.serving.volcano.sh" "modelservings"
  "Rollout.argoproj.io" "rollouts"
  "StormService.orchestration.aibrix.ai" "stormservices"
  "VLLMRuntime.production-stack.vllm.ai" "vllmruntimes"
-}}
{{- $kind := printf "%s.%s" .w.kind (include "vllm-medic.group" .w) | trimSuffix "." -}}
{{- get (merge dict .root.Values.rbac.kinds $known) $kind | required (printf "the chart doesn't know the resource of the kind %s: set rbac.kinds, such as {%s: %ss}; kubectl api-resources lists it" $kind $kind (lower .w.kind)) -}}
{{- end -}}

{{- define "vllm-medic.evidenceRights" -}}
{{- $ns := .w.namespace }}
{{- $group := include "vllm-medic.group" .w }}
{{- $resource := include "vllm-medic.resource" . }}
{{ $ns }}|{{ $group }}|{{ $resource }}|get|{{ .w.name }}|
{{ $ns }}||pods|get||
{{ $ns }}||pods|list||
{{ $ns }}||pods/log|get||optional
{{ $ns }}||events|list||
|autoscaling.aibrix.ai|podautoscalers|list||optional
default||events|list||optional
{{ $ns }}|keda.sh|scaledobjects|list||
{{ $ns }}|autoscaling.aibrix.ai|podautoscalers|list||
{{ $ns }}|autoscaling|horizontalpodautoscalers|list||
{{- if eq $group "workload.serving.volcano.sh" }}
{{ $ns }}|workload.serving.volcano.sh|autoscalingpolicies|list||
{{ $ns }}|workload.serving.volcano.sh|autoscalingpolicybindings|list||
{{- end }}
{{- if and (eq $group "apps") (eq $resource "deployments") }}
{{ $ns }}|apps|replicasets|get||
{{ $ns }}|apps|replicasets|list||optional
{{- end }}
{{- if or (eq $group "leaderworkerset.x-k8s.io") (and (eq $group "apps") (has $resource (list "daemonsets" "statefulsets"))) }}
{{ $ns }}|apps|controllerrevisions|list||optional
{{- end }}
{{- if ne $group "apps" }}
{{ $ns }}|apps|replicasets|get||optional
{{ $ns }}|apps|deployments|get||optional
{{ $ns }}|apps|statefulsets|get||optional
{{ $ns }}|{{ $group }}|{{ $resource }}/scale|get|{{ .w.name }}|optional
|apiextensions.k8s.io|customresourcedefinitions|get||optional
{{- end }}
{{- end -}}

{{- define "vllm-medic.replicaRights" -}}
{{- $ns := .w.namespace }}
{{- $of := printf "%s|%s|%s" $ns (include "vllm-medic.group" .w) (include "vllm-medic.resource" .) }}
{{- $owners := list "keda.sh|scaledobjects" "autoscaling.aibrix.ai|podautoscalers" "autoscaling|horizontalpodautoscalers" }}
{{ $of }}|get|{{ .w.name }}|
{{ $of }}/scale|get|{{ .w.name }}|
{{- if .writes }}
{{ $of }}/scale|patch|{{ .w.name }}|
{{- if hasSuffix "|kubeai.org|models" $of }}
{{ $of }}|patch|{{ .w.name }}|
{{- end }}
{{- with .autoscaler }}
{{ $ns }}|{{ include "vllm-medic.autoscaler" .kind }}|patch|{{ .name }}|
{{- end }}
{{- end }}
{{- range $owners }}
{{ $ns }}|{{ . }}|list||
{{- end }}
{{- if contains "|workload.serving.volcano.sh|" $of }}
{{ $ns }}|workload.serving.volcano.sh|autoscalingpolicies|list||
{{ $ns }}|workload.serving.volcano.sh|autoscalingpolicybindings|list||
{{- end }}
{{- end -}}

{{- define "vllm-medic.argumentRights" -}}
{{- $of := printf "%s|%s|%s" .w.namespace (include "vllm-medic.group" .w) (include "vllm-medic.resource" .) }}
{{ $of }}|get|{{ .w.name }}|
{{- if and .writes (or (hasSuffix "|apps|deployments" $of) (hasSuffix "|apps|statefulsets" $of)) }}
{{ $of }}|patch|{{ .w.name }}|
{{- end }}
{{- end -}}

{{- define "vllm-medic.throttleRights" -}}
{{- $policies := "gateway.envoyproxy.io|backendtrafficpolicies" }}
{{ .k.namespace }}|{{ $policies }}|get|{{ .k.name }}|
{{- if .writes }}
{{ .k.namespace }}|{{ $policies }}|patch|{{ .k.name }}|
{{- end }}
{{- with .p.http_route }}
{{- $ns := .namespace | default (dig "workload" "namespace" "" $.p) | default (dig "matchers" "namespace" "" $.p) }}
{{ $ns }}|gateway.networking.k8s.io|httproutes|get|{{ .name }}|optional
{{ $ns }}|{{ $policies }}|list||optional
{{- end }}
{{- end -}}

{{/* The rules of one role, from lines group|resource|verb|name: one for each resource and set of objects. */}}
{{- define "vllm-medic.rules" -}}
{{- $names := dict -}}
{{- range . -}}
{{- $f := splitList "|" . -}}
{{- $key := printf "%s|%s|%s" (index $f 0) (index $f 1) (index $f 2) -}}
{{- $_ := set $names $key (append (get $names $key | default list) (index $f 3)) -}}
{{- end -}}
{{- $verbs := dict -}}
{{- range $key := keys $names | sortAlpha -}}
{{- $f := splitList "|" $key -}}
{{- $of := get $names $key | uniq | sortAlpha -}}
{{- $objects := printf "%s|%s" (index $f 0) (index $f 1) -}}
{{- if not (has "" $of) }}{{ $objects = printf "%s|%s" $objects (join "|" $of) }}{{ end -}}
{{- $_ := set $verbs $objects (append (get $verbs $objects | default list) (index $f 2)) -}}
{{- end -}}
{{- range $objects := keys $verbs | sortAlpha }}
{{- $f := splitList "|" $objects }}
- apiGroups: [{{ index $f 0 | quote }}]
  resources: [{{ index $f 1 | quote }}]
{{- if gt (len $f) 2 }}
  resourceNames:
{{- range slice $f 2 }}
    - {{ . | quote }}
{{- end }}
{{- end }}
  verbs: {{ get $verbs $objects | toJson }}
{{- end }}
{{- end -}}
