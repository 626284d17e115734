#!/usr/bin/env bash
# Compares `writ render` with the languages' own tools on generated
# repositories of N applications (default 1000), in one run on one machine.
# Ratios are of wall time; compare rows of one run only.
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

# ms prints how many milliseconds a command takes.
ms() {
	local begin
	begin=$(date +%s%N)
	"$@" >/dev/null
	echo $((($(date +%s%N) - begin) / 1000000))
}
row() { printf '%-34s %7d ms   %5.2f\n' "$1" "$2" "$(echo "$2 / $3" | bc -l)"; }

for l in cue jsonnet; do
	if [ $l = cue ]; then
		peer=$(cd "$dir/cue" && ms "$dir/bin/cue" export ./apps/...)
	else
		peer=$(cd "$dir/jsonnet" && ms "$dir/bin/jsonnet" all.jsonnet)
	fi
	row "$l: its own tool" "$peer" "$peer"
	row "$l: writ render, nothing kept" "$(ms "$dir/writ" render "$dir/$l" -o jsonl)" "$peer"
	row "$l: writ render, nothing changed" "$(ms "$dir/writ" render "$dir/$l" -o jsonl)" "$peer"
	sed -i 's/replicas: 2/replicas: 3/' "$dir/$l/apps/app-0001"*/app.cue "$dir/$l/apps/app-0001.jsonnet" 2>/dev/null || true
	row "$l: writ render, one changed" "$(ms "$dir/writ" render "$dir/$l" -o jsonl)" "$peer"
done
