// What all workloads have in common: an image, what its container is given,
// and the services that it uses.

local c = import 'check.libsonnet';
local service = import 'service.libsonnet';

local keyRef = c.record({ name: c.objectName, key: c.fileName, optional: c.boolean }, ['name', 'key']);

local sources = { secret: keyRef, configMap: keyRef, field: c.string };

local envVar(at, v) =
  if std.isString(v) then v
  else if !std.isObject(v) then
    c.fail(at, 'a value of env is a string, or one of {secret: {name, key}}, {configMap: {name, key}} and {field: path}; put numbers in quotes')
  else c.oneWay(c.record(sources), std.objectFields(sources))(at, v);

local envFrom = c.oneWay(c.record({
  secret: c.objectName,
  configMap: c.objectName,
  prefix: c.envName,
  optional: c.boolean,
}), ['secret', 'configMap']);

local mount = c.oneWay(c.record({
  path: c.path,
  secret: c.objectName,
  configMap: c.objectName,
  emptyDir: c.record({ sizeLimit: c.quantity, medium: c.oneOf(['Memory']) }),
}, ['path']), ['secret', 'configMap', 'emptyDir']);

// label is of the pods of a workload, and what selects them.
local label = 'app.kubernetes.io/name';

// written are the API's forms.
local written = {
  env(name, v): { name: name } + (
    if std.isString(v) then { value: v }
    else if std.objectHas(v, 'secret') then { valueFrom: { secretKeyRef: v.secret } }
    else if std.objectHas(v, 'configMap') then { valueFrom: { configMapKeyRef: v.configMap } }
    else { valueFrom: { fieldRef: { fieldPath: v.field } } }
  ),
  envFrom(v):
    local ref(name) = { name: name, [if std.objectHas(v, 'optional') then 'optional']: v.optional };
    {
      [if std.objectHas(v, 'secret') then 'secretRef']: ref(v.secret),
      [if std.objectHas(v, 'configMap') then 'configMapRef']: ref(v.configMap),
      [if std.objectHas(v, 'prefix') then 'prefix']: v.prefix,
    },
  volume(name, v): {
    name: name,
    [if std.objectHas(v, 'secret') then 'secret']: { secretName: v.secret },
    [if std.objectHas(v, 'configMap') then 'configMap']: { name: v.configMap },
    [if std.objectHas(v, 'emptyDir') then 'emptyDir']: v.emptyDir,
  },
};

{
  // fields are those that every workload has, with the check of each.
  fields:: {
    namespace: c.name,
    image: c.image,
    command: c.list(c.string),
    args: c.list(c.string),
    env: c.map(c.envName, envVar),
    envFrom: c.list(envFrom),
    config: c.map(c.fileName, c.string),
    configDir: c.path,
    mounts: c.map(c.mountName, mount),
    dependencies: c.map(c.name, service.dependency),
    resources: c.record({ requests: c.map(c.resourceName, c.quantity), limits: c.map(c.resourceName, c.quantity) }),
    gracePeriod: c.count,
    labels: c.map(
      function(at, l) if l == label then c.fail(at, 'is always the name') else l,
      c.string,
    ),
  },

  // of makes the parts that all workloads are made of. s is a spec that was
  // checked; more is for the container.
  of(kind, name, s, more={})::
    local config = service.get(s, 'config', {});
    local mounts = service.get(s, 'mounts', {});
    local env = service.get(s, 'env', {});
    local hasConfig = std.length(config) > 0;
    local has(f) = if std.objectHas(s, f) then f;
    local some(f) = if std.length(service.get(s, f, [])) > 0 then f;
    {
      local w = self,

      selector:: { [label]: name },
      labels:: service.get(s, 'labels', {}) + w.selector,
      meta(n):: { name: n, [if std.objectHas(s, 'namespace') then 'namespace']: s.namespace, labels: w.labels },

      container:: {
        name: name,
        image: s.image,
        [has('command')]: s.command,
        [has('args')]: s.args,
        [has('resources')]: s.resources,
        [some('env')]: [written.env(e, env[e]) for e in std.objectFields(env)],
        [some('envFrom')]: std.map(written.envFrom, s.envFrom),
        [if hasConfig || std.length(mounts) > 0 then 'volumeMounts']:
          (if hasConfig then [{ name: 'config', mountPath: service.get(s, 'configDir', '/etc/' + name), readOnly: true }] else [])
          + [
            { name: m, mountPath: mounts[m].path, [if !std.objectHas(mounts[m], 'emptyDir') then 'readOnly']: true }
            for m in std.objectFields(mounts)
          ],
      } + more,

      template:: {
        metadata: {
          labels: w.labels,
          [if hasConfig then 'annotations']: {
            'config-digest': std.sha256(std.join('', std.sort(['%s=%s\n' % [f, config[f]] for f in std.objectFields(config)]))),
          },
        },
        spec: {
          serviceAccountName: name,
          containers: [w.container],
          [if hasConfig || std.length(mounts) > 0 then 'volumes']:
            (if hasConfig then [{ name: 'config', configMap: { name: name + '-config' } }] else [])
            + [written.volume(m, mounts[m]) for m in std.objectFields(mounts)],
          [if std.objectHas(s, 'gracePeriod') then 'terminationGracePeriodSeconds']: s.gracePeriod,
        },
      },

      documents:: {
        serviceAccount: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: w.meta(name) },
        [if hasConfig then 'configMap']: { apiVersion: 'v1', kind: 'ConfigMap', metadata: w.meta(name + '-config'), data: config },
      } + service.edges({ kind: kind, name: name }, name, w.meta, service.get(s, 'dependencies', {})),
    },
}
