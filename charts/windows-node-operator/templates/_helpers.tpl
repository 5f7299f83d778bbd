{{- define "wno.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "wno.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "wno.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "wno.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "wno.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "wno.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "wno.selectorLabels" -}}
app.kubernetes.io/name: {{ include "wno.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "wno.labels" -}}
{{- $own := dict
      "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
      "app.kubernetes.io/version" (.Chart.AppVersion | replace "+" "_" | trunc 63)
      "app.kubernetes.io/managed-by" .Release.Service
      "app.kubernetes.io/part-of" .Chart.Name }}
{{- $selector := include "wno.selectorLabels" . | fromYaml }}
{{- /* Own labels last: a common label must not change what the selector finds. */ -}}
{{- mergeOverwrite (dict) .Values.commonLabels $own $selector | toYaml }}
{{- end }}

{{- define "wno.podLabels" -}}
{{- $selector := include "wno.selectorLabels" . | fromYaml }}
{{- mergeOverwrite (dict) .Values.commonLabels .Values.podLabels $selector | toYaml }}
{{- end }}

{{- define "wno.image" -}}
{{- $registry := default .Values.imageRegistry .Values.image.registry }}
{{- $name := .Values.image.repository }}
{{- if $registry }}{{- $name = printf "%s/%s" (trimSuffix "/" $registry) $name }}{{- end }}
{{- if and .Values.image.tag .Values.image.digest }}
{{- fail "image: set tag or digest, not both" }}
{{- else if .Values.image.digest }}
{{- printf "%s@%s" $name .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $name (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- define "wno.dnsPolicy" -}}
{{- if .Values.dnsPolicy }}
{{- .Values.dnsPolicy }}
{{- else if .Values.hostNetwork }}
{{- "ClusterFirstWithHostNet" }}
{{- else }}
{{- "ClusterFirst" }}
{{- end }}
{{- end }}

{{- define "wno.apiServerEnv" -}}
{{- with .Values.kubernetesServiceEndpoint }}
{{- if ne (empty .host) (empty .port) }}
{{- fail "kubernetesServiceEndpoint: set host and port, or neither" }}
{{- end }}
{{- if .host }}
- name: KUBERNETES_SERVICE_HOST
  value: {{ .host | quote }}
- name: KUBERNETES_SERVICE_PORT
  value: {{ .port | toString | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /*
`helm upgrade --reuse-values` renders with the values of the earlier release alone: what that did not have has no value. A value newer than
0.1.0 is read in a way that takes this for its default.
*/ -}}
{{- define "wno.uninstallHook" -}}
{{- if and .Values.rbac.create (dig "uninstallHook" "enabled" true .Values.AsMap) }}true{{ end }}
{{- end }}

{{- define "wno.uninstallTimeout" -}}
{{- dig "uninstallHook" "timeoutSeconds" 270 .Values.AsMap }}
{{- end }}
