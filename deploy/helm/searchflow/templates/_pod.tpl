{{/* The pod of a worker, for the Deployment and for the WorkerDeployment. */}}
{{- define "searchflow.pod" -}}
metadata:
  labels:
    {{- include "searchflow.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or .Values.podAnnotations (not .Values.secret.existing) }}
  annotations:
    {{- if not .Values.secret.existing }}
    # A changed secret restarts the workers.
    checksum/secret: {{ toJson .Values.secret.values | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  serviceAccountName: {{ include "searchflow.serviceAccount" . }}
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: worker
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: {{- toYaml .Values.args | nindent 8 }}
      env:
        {{- if not .Values.workerDeployment.enabled }}
        - name: TEMPORAL_ADDRESS
          value: {{ .Values.temporal.address | quote }}
        - name: TEMPORAL_NAMESPACE
          value: {{ .Values.temporal.namespace | quote }}
        {{- with .Values.temporal.tls.serverName }}
        - name: TEMPORAL_TLS_SERVER_NAME
          value: {{ . | quote }}
        {{- end }}
        {{- end }}
        - name: SEARCHFLOW_TASK_QUEUE
          value: {{ .Values.temporal.taskQueue | quote }}
        {{- if include "searchflow.ownCertificate" . }}
        - name: TEMPORAL_TLS_CLIENT_CERT_PATH
          value: /etc/temporal-tls/tls.crt
        - name: TEMPORAL_TLS_CLIENT_KEY_PATH
          value: /etc/temporal-tls/tls.key
        {{- end }}
        {{- with .Values.temporal.tls.caSecret }}
        - name: TEMPORAL_TLS_SERVER_CA_CERT_PATH
          value: /etc/temporal-ca/ca.crt
        {{- end }}
        {{- with .Values.temporal.tls }}
        {{- if or .enabled .clientSecret .caSecret .serverName }}
        - name: TEMPORAL_TLS
          value: "true"
        {{- else if .plain }}
        - name: TEMPORAL_TLS
          value: "false"
        {{- end }}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        # A pod of a secret without these keys does not start: without a key, the worker would load made-up pages.
        {{- range .Values.secret.required }}
        {{- if not (and $.Values.sandbox (eq . "SEARCHFLOW_API_KEY")) }}
        - name: {{ . }}
          valueFrom:
            secretKeyRef: { name: {{ include "searchflow.secret" $ }}, key: {{ . }} }
        {{- end }}
        {{- end }}
      envFrom:
        - secretRef:
            name: {{ include "searchflow.secret" . }}
      ports:
        - name: metrics
          containerPort: 9464
      # The store is opened before the port, so a start waits up to five minutes for the database.
      startupProbe:
        httpGet: { path: /healthz, port: metrics }
        periodSeconds: 5
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /healthz, port: metrics }
        periodSeconds: 20
        timeoutSeconds: 10
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: metrics }
        periodSeconds: 10
        timeoutSeconds: 5
      resources: {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: state, mountPath: /var/lib/searchflow }
        - { name: tmp, mountPath: /tmp }
        {{- if include "searchflow.ownCertificate" . }}
        - { name: temporal-client, mountPath: /etc/temporal-tls, readOnly: true }
        {{- end }}
        {{- if .Values.temporal.tls.caSecret }}
        - { name: temporal-ca, mountPath: /etc/temporal-ca, readOnly: true }
        {{- end }}
        {{- with .Values.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: data
      {{- if .Values.data.existingClaim }}
      persistentVolumeClaim:
        claimName: {{ .Values.data.existingClaim }}
      {{- else }}
      emptyDir:
        sizeLimit: {{ .Values.data.sizeLimit }}
      {{- end }}
    - name: state
      emptyDir:
        sizeLimit: {{ .Values.state.sizeLimit }}
    - name: tmp
      emptyDir: {}
    {{- if include "searchflow.ownCertificate" . }}
    - name: temporal-client
      secret:
        secretName: {{ .Values.temporal.tls.clientSecret }}
        items:
          - { key: tls.crt, path: tls.crt }
          - { key: tls.key, path: tls.key }
    {{- end }}
    {{- with .Values.temporal.tls.caSecret }}
    - name: temporal-ca
      secret:
        secretName: {{ . }}
        items:
          - { key: ca.crt, path: ca.crt }
    {{- end }}
    {{- with .Values.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- with .Values.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ $key }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "searchflow.selector" $ | nindent 10 }}
    {{- end }}
    {{- end }}
{{- end -}}

{{/* Whether the chart mounts the client certificate for Temporal. In a WorkerDeployment, the controller does. */}}
{{- define "searchflow.ownCertificate" -}}
{{- if and .Values.temporal.tls.clientSecret (not .Values.workerDeployment.enabled) }}true{{ end }}
{{- end -}}
