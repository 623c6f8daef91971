{{- define "searchflow.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "searchflow.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "searchflow.labels" -}}
{{ include "searchflow.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "searchflow.secret" -}}
{{ .Values.secret.existing | default (include "searchflow.name" .) }}
{{- end -}}

{{- define "searchflow.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "searchflow.name" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{/* The number of workers. Without one, an autoscaler sets it, and an upgrade of the release keeps it. */}}
{{- define "searchflow.replicas" -}}
{{- if not (kindIs "invalid" .Values.replicas) }}replicas: {{ .Values.replicas }}{{ end }}
{{- end -}}
