#!/usr/bin/env bash
# Compares `writ render` with the languages' own tools on generated
# repositories of N applications (default 1000) of five documents each, in one
# run on one machine. Ratios are of wall time; compare rows of one run only.
#
#	.ci/bench-render.sh [N]
set -euo pipefail
cd "$(dirname "$0")/.."
n=${1:-1000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export WRIT_CACHE=$dir/cache

CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w" -o "$dir/writ" ./cmd/writ
GOBIN=$dir/bin go install cuelang.org/go/cmd/cue@v0.17.1
GOBIN=$dir/bin go install github.com/google/go-jsonnet/cmd/jsonnet@v0.22.0

# The two repositories have the same content: a library, and one file an
# application.
mkdir -p "$dir/cue/cue.mod" "$dir/cue/lib" "$dir/cue/apps" "$dir/jsonnet/apps" "$dir/jsonnet/lib"
printf 'module: "example.com/repo@v0"\nlanguage: version: "v0.17.0"\n' >"$dir/cue/cue.mod/module.cue"
cat >"$dir/cue/lib/app.cue" <<'CUE'
package lib

#App: {
	name:     string
	image:    string
	replicas: int & >=1
	env: [string]: string
	_labels: {app: name}
	objects: {
		deployment: {
			apiVersion: "apps/v1"
			kind:       "Deployment"
			metadata: {"name": name, labels: _labels}
			spec: {
				"replicas": replicas
				selector: matchLabels: _labels
				template: {
					metadata: labels: _labels
					spec: containers: [{
						"name": name, "image": image
						"env": [for k, v in env {name: k, value: v}]
						ports: [{containerPort: 8080}]
					}]
				}
			}
		}
		service: {
			apiVersion: "v1"
			kind:       "Service"
			metadata: {"name": name, labels: _labels}
			spec: {selector: _labels, ports: [{port: 80, targetPort: 8080}]}
		}
		config: {
			apiVersion: "v1"
			kind:       "ConfigMap"
			metadata: {"name": name, labels: _labels}
			data: env
		}
		account: {
			apiVersion: "v1"
			kind:       "ServiceAccount"
			metadata: {"name": name, labels: _labels}
			automountServiceAccountToken: false
		}
		policy: {
			apiVersion: "networking.k8s.io/v1"
			kind:       "NetworkPolicy"
			metadata: {"name": name, labels: _labels}
			spec: {
				podSelector: matchLabels: _labels
				policyTypes: ["Ingress"]
				ingress: [{from: [{podSelector: {}}], ports: [{port: 8080}]}]
			}
		}
	}
}
CUE
cat >"$dir/jsonnet/lib/app.libsonnet" <<'JSONNET'
{
  app(a):: {
    local labels = { app: a.name },
    assert a.replicas >= 1,
    deployment: {
      apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: a.name, labels: labels },
      spec: {
        replicas: a.replicas, selector: { matchLabels: labels },
        template: {
          metadata: { labels: labels },
          spec: { containers: [{
            name: a.name, image: a.image,
            env: [{ name: k, value: a.env[k] } for k in std.objectFields(a.env)],
            ports: [{ containerPort: 8080 }],
          }] },
        },
      },
    },
    service: {
      apiVersion: 'v1', kind: 'Service', metadata: { name: a.name, labels: labels },
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
    },
    config: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: a.name, labels: labels }, data: a.env },
    account: {
      apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: a.name, labels: labels },
      automountServiceAccountToken: false,
    },
    policy: {
      apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: a.name, labels: labels },
      spec: {
        podSelector: { matchLabels: labels }, policyTypes: ['Ingress'],
        ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 8080 }] }],
      },
    },
  },
}
JSONNET
printf '{\n' >"$dir/jsonnet/all.jsonnet"
for i in $(seq -f %04g "$n"); do
	mkdir -p "$dir/cue/apps/app-$i"
	env="" cueenv=""
	for k in 1 2 3 4 5 6; do
		env+="E$k: 'value-$i-$k', "
		cueenv+="E$k: \"value-$i-$k\", "
	done
	printf 'package app\n\nimport "example.com/repo/lib"\n\nlib.#App & {name: "app-%s", image: "registry.example/app:%s", replicas: 2, env: {%s}}\n' "$i" "$i" "$cueenv" >"$dir/cue/apps/app-$i/app.cue"
	printf "(import '../lib/app.libsonnet').app({ name: 'app-%s', image: 'registry.example/app:%s', replicas: 2, env: { %s} })\n" "$i" "$i" "$env" >"$dir/jsonnet/apps/app-$i.jsonnet"
	printf "  'app-%s': import 'apps/app-%s.jsonnet',\n" "$i" "$i" >>"$dir/jsonnet/all.jsonnet"
done
printf '}\n' >>"$dir/jsonnet/all.jsonnet"
for l in cue jsonnet; do printf 'units: {apps: {entry: "apps/*"}}\n' >"$dir/$l/writ.yaml"; done
sleep 3 # files that are new are not trusted to be unchanged

# measure runs a command and sets wall and processor time, in milliseconds.
measure() {
	local times
	times=$({ TIMEFORMAT='%3R %3U %3S'; time "$@" >/dev/null 2>&1; } 2>&1)
	read -r wall user system <<<"${times//./}"
	wall=$((10#$wall)) processor=$((10#$user + 10#$system))
}
row() { printf '%-34s %7d ms %7d ms   %5.2f\n' "$1" "$wall" "$processor" "$(echo "$wall / $peer" | bc -l)"; }

printf '%-34s %10s %10s %7s\n' "$n applications" wall processor ratio
for l in cue jsonnet; do
	if [ $l = cue ]; then
		cd "$dir/cue"
		measure "$dir/bin/cue" export ./apps/...
	else
		cd "$dir/jsonnet"
		measure "$dir/bin/jsonnet" all.jsonnet
	fi
	peer=$wall
	row "$l: its own tool"
	measure "$dir/writ" render . -o jsonl
	row "$l: writ render, nothing kept"
	measure "$dir/writ" render . -o jsonl
	row "$l: writ render, nothing changed"
	sed -i 's/replicas: 2/replicas: 3/' apps/app-0001*/app.cue apps/app-0001.jsonnet 2>/dev/null || true
	measure "$dir/writ" render . -o jsonl
	row "$l: writ render, one changed"
done
