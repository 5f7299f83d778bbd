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
{{- required "set serviceAccount.name when serviceAccount.create is false" .Values.serviceAccount.name }}
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
{{- /* The chart's own labels come last: a common label must not change what the selector matches. */ -}}
{{- mergeOverwrite (dict) .Values.commonLabels $own $selector | toYaml }}
{{- end }}

{{- /* Takes a list: the root, and the object's own annotations, which take precedence over the common ones. */ -}}
{{- define "wno.annotations" -}}
{{- $own := dict }}
{{- if gt (len .) 1 }}{{- $own = default dict (index . 1) }}{{- end }}
{{- with mergeOverwrite (dict) (default dict (index . 0).Values.commonAnnotations) $own }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{- define "wno.podLabels" -}}
{{- $selector := include "wno.selectorLabels" . | fromYaml }}
{{- mergeOverwrite (dict) .Values.commonLabels .Values.podLabels $selector | toYaml }}
{{- end }}

{{- define "wno.imageRegistry" -}}
{{- coalesce (.Values.global).imageRegistry .Values.image.registry .Values.imageRegistry | default "" }}
{{- end }}

{{- define "wno.image" -}}
{{- $registry := include "wno.imageRegistry" . }}
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

{{- /*
Takes the root and whether the pod may be replaced. A node without working networking is not ready, but the operator must start there.
If there is another replica, a pod on a node that is not ready or not reachable is replaced after 30 seconds instead of Kubernetes' 300.
With hostNetwork a pod works on a node that is not ready, and stays.
*/ -}}
{{- define "wno.tolerations" -}}
{{- $values := (index . 0).Values }}
{{- if $values.tolerations }}
{{- toYaml $values.tolerations }}
{{- else }}
- key: node-role.kubernetes.io/control-plane
  operator: Exists
  effect: NoSchedule
- key: node.kubernetes.io/network-unavailable
  operator: Exists
{{- if and (index . 1) (gt (int $values.replicaCount) 1) (not $values.hostNetwork) }}
- key: node.kubernetes.io/not-ready
  operator: Exists
  effect: NoSchedule
- key: node.kubernetes.io/not-ready
  operator: Exists
  effect: NoExecute
  tolerationSeconds: 30
{{- else }}
- key: node.kubernetes.io/not-ready
  operator: Exists
{{- end }}
{{- if index . 1 }}
- key: node.kubernetes.io/unreachable
  operator: Exists
  effect: NoExecute
  tolerationSeconds: 30
{{- end }}
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
`helm upgrade --reuse-values` renders with the values of the earlier release only: newer values are missing. A missing value that is newer
than 0.1.0 is read as its default.
*/ -}}
{{- define "wno.uninstallHook" -}}
{{- if and .Values.rbac.create (dig "uninstallHook" "enabled" true .Values.AsMap) }}true{{ end }}
{{- end }}

{{- define "wno.uninstallTimeout" -}}
{{- dig "uninstallHook" "timeoutSeconds" 270 .Values.AsMap }}
{{- end }}

{{- /* Takes the root and the name of an alert. */ -}}
{{- define "wno.alertLabels" -}}
{{- $rule := (index . 0).Values.prometheusRule }}
{{- $severity := dig "severities" (index . 1) (default "warning" $rule.severity) $rule }}
{{- mergeOverwrite (dict) (default dict $rule.alertLabels) (dict "severity" $severity) | toYaml }}
{{- end }}

{{- /* Takes a dict of the cidrs and ports that may be reached. No CIDR means every address. */ -}}
{{- define "wno.egress" -}}
- ports:
    {{- range .ports }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with .cidrs }}
  to:
    {{- range . }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
  {{- end }}
{{- end }}

{{- define "wno.dns" -}}
- ports:
    {{- range .dns.ports }}
    - port: {{ . }}
      protocol: UDP
    - port: {{ . }}
      protocol: TCP
    {{- end }}
{{- end }}

{{- define "wno.uninstallName" -}}
{{- printf "%s-uninstall" (include "wno.fullname" . | trunc 53 | trimSuffix "-") }}
{{- end }}

{{- /* Not empty if the operator may read workloads; a release from before this value has none. */ -}}
{{- define "wno.workloadLint" -}}
{{- if dig "workloads" "lint" "enabled" true .Values.AsMap }}true{{ end }}
{{- end }}
