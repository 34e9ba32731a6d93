{{- define "vllm-medic.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "vllm-medic.fullname" -}}
{{- $name := include "vllm-medic.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "vllm-medic.selector" -}}
app.kubernetes.io/name: {{ include "vllm-medic.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vllm-medic.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "vllm-medic.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "vllm-medic.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "vllm-medic.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is required when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "vllm-medic.secret" -}}
{{- default (include "vllm-medic.fullname" .) .Values.secret.name -}}
{{- end -}}

{{/* The roles' prefix: two releases of one name are in two namespaces. vllm-medic rbac names them in the same way. */}}
{{- define "vllm-medic.rolePrefix" -}}
{{- $account := include "vllm-medic.serviceAccount" . -}}
{{- if eq $account .Release.Namespace }}{{ $account }}{{ else }}{{ .Release.Namespace }}-{{ $account }}{{ end -}}
{{- end -}}

{{- define "vllm-medic.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}
