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
{{- else if not (or $store.url_env $store.url_file) -}}
{{- if hasPrefix "sqlite:" (default "sqlite:" $store.url) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* Where the Secret is mounted: a folder, so that the kubelet can replace what is in it. */}}
{{- define "vllm-medic.secretDir" -}}/etc/vllm-medic-secrets{{- end -}}

{{/*
The configuration that the pod gets: each ..._env is the file of that name in the Secret's folder, so that no secret is in
the environment and each is read again when it changes. Those that extraEnv sets stay what they are.
*/}}
{{- define "vllm-medic.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $set := list -}}
{{- range .Values.extraEnv }}{{ $set = append $set .name }}{{ end -}}
{{- include "vllm-medic.envToFiles" (dict "value" $config "set" $set "dir" (include "vllm-medic.secretDir" .)) -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Changes a value in place, and prints nothing. */}}
{{- define "vllm-medic.envToFiles" -}}
{{- $of := . -}}
{{- if kindIs "map" $of.value -}}
{{- range $key, $value := $of.value -}}
{{- if and (hasSuffix "_env" $key) (kindIs "string" $value) -}}
{{- if and $value (not (has $value $of.set)) -}}
{{- $_ := set $of.value (printf "%s_file" (trimSuffix "_env" $key)) (printf "%s/%s" $of.dir $value) -}}
{{- $_ := unset $of.value $key -}}
{{- end -}}
{{- else -}}
{{- include "vllm-medic.envToFiles" (dict "value" $value "set" $of.set "dir" $of.dir) -}}
{{- end -}}
{{- end -}}
{{- else if kindIs "slice" $of.value -}}
{{- range $of.value }}{{ include "vllm-medic.envToFiles" (dict "value" . "set" $of.set "dir" $of.dir) }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The files of the Secret's folder that a configuration names, one on each line. */}}
{{- define "vllm-medic.fileNames" -}}
{{- $of := . -}}
{{- if kindIs "map" $of.value -}}
{{- range $key, $value := $of.value -}}
{{- if and (hasSuffix "_file" $key) (kindIs "string" $value) }}{{ if hasPrefix (printf "%s/" $of.dir) $value }}
{{ trimPrefix (printf "%s/" $of.dir) $value }}
{{- end }}{{ else }}{{ include "vllm-medic.fileNames" (dict "value" $value "dir" $of.dir) }}{{ end -}}
{{- end -}}
{{- else if kindIs "slice" $of.value -}}
{{- range $of.value }}{{ include "vllm-medic.fileNames" (dict "value" . "dir" $of.dir) }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The keys of the Secret by the names of their files, as YAML. Of an existing ConfigMap only secret.keys says them. */}}
{{- define "vllm-medic.secretFiles" -}}
{{- $files := dict -}}
{{- if not .Values.existingConfigMap -}}
{{- $config := include "vllm-medic.config" . | fromYaml -}}
{{- range splitList "\n" (include "vllm-medic.fileNames" (dict "value" $config "dir" (include "vllm-medic.secretDir" .))) -}}
{{- if trim . }}{{ $_ := set $files (trim .) (trim .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $name, $key := .Values.secret.keys }}{{ $_ := set $files $name $key }}{{ end -}}
{{- if $files }}{{ toYaml $files }}{{ end -}}
{{- end -}}

{{/* The chart can't rewrite a configuration that it can't read: one that names variables still finds them. */}}
{{- define "vllm-medic.env" -}}
{{- if .Values.existingConfigMap -}}
{{- range $name := keys .Values.secret.keys | sortAlpha }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ include "vllm-medic.secret" $ }}
      key: {{ index $.Values.secret.keys $name }}
{{- end -}}
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
