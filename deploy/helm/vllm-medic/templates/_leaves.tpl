{{/*
The fields that the knobs of config write: one on each line, as namespace|group|resource|name|shape|min|max|container.
They are those of vllm-medic rbac --admission, in Go each knob's Leaves; a test compares the two.
*/}}
{{- define "vllm-medic.leaves" -}}
{{- if and (not .Values.existingConfigMap) (not (kindIs "invalid" .Values.config.kubernetes)) }}
{{- range $p := .Values.config.pools }}
{{- $mode := $p.mode | default $.Values.config.mode | default "dry-run" }}
{{- if and (has $mode (list "approve" "auto")) (not $.Values.dryRun) }}
{{- range $kind, $knob := $p.knobs }}
{{- if $knob }}
{{- $limits := printf "%d|%d" (int64 $knob.min) (int64 $knob.max) }}
{{- if eq $kind "throttle" }}
{{ $knob.namespace }}|gateway.envoyproxy.io|backendtrafficpolicies|{{ $knob.name }}|{{ snakecase $knob.field }}|{{ $limits }}|
{{- else }}
{{- $group := include "vllm-medic.group" $p.workload }}
{{- $resource := include "vllm-medic.resource" (dict "root" $ "w" $p.workload) }}
{{- $of := printf "%s|%s|%s" $p.workload.namespace $group $resource }}
{{- if ne $kind "replicas" }}
{{- if and (eq $group "apps") (has $resource (list "deployments" "statefulsets")) }}
{{ $of }}|{{ $p.workload.name }}|{{ $kind }}|{{ $limits }}|{{ $p.workload.container }}
{{- end }}
{{- else }}
{{ $of }}/scale|{{ $p.workload.name }}|replicas|{{ $limits }}|
{{- if and (eq $group "kubeai.org") (eq $resource "models") }}
{{ $of }}|{{ $p.workload.name }}|min_replicas|{{ $limits }}|
{{- end }}
{{- with $p.autoscaler }}
{{ $p.workload.namespace }}|{{ include "vllm-medic.autoscaler" .kind }}|{{ .name }}|{{ get (dict "ScaledObject" "min_replica_count" "HorizontalPodAutoscaler" "min_replicas_filled") .kind | default "min_replicas" }}|{{ $limits }}|
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The resource of an autoscaler's kind. */}}
{{- define "vllm-medic.autoscaler" -}}
{{- get (dict
  "HorizontalPodAutoscaler" "autoscaling|horizontalpodautoscalers"
  "PodAutoscaler" "autoscaling.aibrix.ai|podautoscalers"
  "ScaledObject" "keda.sh|scaledobjects"
) . -}}
{{- end -}}
