{{/* The documents of a file; those of the base with the label that kustomize gives them */}}
{{- define "plates.documents" -}}
{{- range splitList "\n---\n" (.files.Get .file) }}
{{- $document := fromYaml . }}
{{- if hasPrefix "files/base/" $.file }}
{{- $_ := set $document.metadata "labels" (dict "app.kubernetes.io/name" "plate-nets") }}
{{- end }}
---
{{ toYaml $document }}
{{- end }}
{{- end }}

{{/* How many servers there may be */}}
{{- define "plates.most" -}}
{{- if .Values.autoscaling }}
{{- (fromYaml (.Files.Get "files/components/autoscaling-cpu/horizontalpodautoscaler.yaml")).spec.maxReplicas }}
{{- else }}
{{- .Values.replicas }}
{{- end }}
{{- end }}
