{{/* What the chart reads from config. All answers are text: "true" or "" for yes or no. */}}

{{- define "vllm-medic.port" -}}
{{- $address := index (default dict .root.Values.config.listen) .listener | default .default -}}
{{- regexFind "[0-9]+$" $address | required (printf "config.listen.%s: %q has no port" .listener $address) -}}
{{- end -}}

{{- define "vllm-medic.apiPort" -}}
{{- include "vllm-medic.port" (dict "root" . "listener" "api" "default" ":8080") -}}
{{- end -}}

{{- define "vllm-medic.opsPort" -}}
{{- include "vllm-medic.port" (dict "root" . "listener" "ops" "default" ":8081") -}}
{{- end -}}

{{/* The port of Slack's clicks; empty in Socket Mode. */}}
{{- define "vllm-medic.slackPort" -}}
{{- if eq (dig "slack" "mode" "socket" (.Values.config | merge dict)) "http" -}}
{{- include "vllm-medic.port" (dict "root" . "listener" "slack" "default" ":8082") -}}
{{- end -}}
{{- end -}}

{{- define "vllm-medic.scheme" -}}
{{- $listen := default dict .root.Values.config.listen -}}
{{- if hasKey (default dict $listen.tls) .listener }}https{{ else }}http{{ end -}}
{{- end -}}

{{/* Whether incidents are in SQLite. Of an existing ConfigMap only persistence.enabled says so. */}}
{{- define "vllm-medic.sqlite" -}}
{{- $store := default dict .Values.config.store -}}
{{- if .Values.existingConfigMap -}}
{{- if .Values.persistence.enabled }}true{{ end -}}
{{- else if not $store.url_env -}}
{{- if hasPrefix "sqlite:" (default "sqlite:" $store.url) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* The environment variables that config names, one on each line. */}}
{{- define "vllm-medic.envNames" -}}
{{- if kindIs "map" . -}}
{{- range $key, $value := . -}}
{{- if and (hasSuffix "_env" $key) (kindIs "string" $value) }}{{ if $value }}
{{ $value }}
{{- end }}{{ else }}{{ include "vllm-medic.envNames" $value }}{{ end -}}
{{- end -}}
{{- else if kindIs "slice" . -}}
{{- range . }}{{ include "vllm-medic.envNames" . }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "vllm-medic.env" -}}
{{- $keys := dict -}}
{{- if not .Values.existingConfigMap -}}
{{- range splitList "\n" (include "vllm-medic.envNames" .Values.config) -}}
{{- if trim . }}{{ $_ := set $keys (trim .) (trim .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $name, $key := .Values.secret.keys }}{{ $_ := set $keys $name $key }}{{ end -}}
{{- range $name := keys $keys | sortAlpha }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ include "vllm-medic.secret" $ }}
      key: {{ index $keys $name }}
{{- end -}}
{{- end -}}

{{/* The namespaces of the pools' workloads, as a YAML list. */}}
{{- define "vllm-medic.modelNamespaces" -}}
{{- $out := list -}}
{{- if not .Values.existingConfigMap -}}
{{- range .Values.config.pools -}}
{{- $ns := dig "workload" "namespace" "" . | default (dig "matchers" "namespace" "" .) -}}
{{- if $ns }}{{ $out = append $out $ns }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $out | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/* What can't work is refused before anything is installed. */}}
{{- define "vllm-medic.refuse" -}}
{{- if and (gt (int .Values.replicas) 1) (include "vllm-medic.sqlite" .) -}}
{{- fail (printf "replicas is %d, but SQLite is for one process: keep replicas: 1, or use PostgreSQL (config.store.url: null, config.store.url_env: VLLM_MEDIC_STORE_URL, and its URL in the Secret)" (int .Values.replicas)) -}}
{{- end -}}
{{- range $listener, $address := default dict .Values.config.listen -}}
{{- if and (kindIs "string" $address) (regexMatch "^(127\\.|localhost:|\\[::1\\])" $address) -}}
{{- fail (printf "config.listen.%s: only the pod itself reaches %s: use \":%s\"" $listener $address (regexFind "[0-9]+$" $address)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.existingConfigMap .Values.rbac.create -}}
{{- fail "existingConfigMap: the chart can't read it, so it can't grant what it needs: set rbac.create to false and apply what vllm-medic rbac --config FILE prints" -}}
{{- end -}}
{{- end -}}

{{/* Where Alertmanager posts. */}}
{{- define "vllm-medic.webhook" -}}
{{ include "vllm-medic.scheme" (dict "root" . "listener" "api") }}://{{ include "vllm-medic.fullname" . }}.{{ .Release.Namespace }}.svc:{{ include "vllm-medic.apiPort" . }}/api/v1/alertmanager
{{- end -}}
