// Writ's standard library for Jsonnet: turns a short description of a service
// into its documents. The same in CUE is writ.dev/app, and gives equal
// documents.
//
//   local writ = import 'writ.libsonnet';
//   {
//     web: writ.app('web', {
//       image: 'web@sha256:…',
//       ports: { http: { port: 8080, public: true } },
//       dependencies: { api: { service: 'api:8080' } },
//       probes: { http: { path: '/healthz' } },
//     }),
//   }
//
// The result has a field for each document (serviceAccount, deployment,
// service, configMap, dependency-NAME); add to them with +: what the fields
// cannot say.

// fail stops with what is wrong where.
local fail(at, message) = error at + ': ' + message;

local quoted(names) = std.join(', ', names);

// object checks that v is an object with no other than the known fields.
local object(at, v, known=null) =
  if !std.isObject(v) then fail(at, 'must be an object, not a ' + std.type(v))
  else
    local unknown = if known == null then [] else std.setDiff(std.objectFields(v), std.set(known));
    if unknown != [] then fail(at, 'has no field ' + quoted(unknown) + '; it has ' + quoted(known))
    else v;

local isWhole(v) = std.isNumber(v) && std.floor(v) == v;

local whole(at, v, from, to) =
  if isWhole(v) && v >= from && v <= to then v
  else fail(at, 'must be a whole number from %d to %d, not %s' % [from, to, std.manifestJsonMinified(v)]);

local string(at, v) =
  if std.isString(v) then v
  else fail(at, 'must be a string, not %s' % std.manifestJsonMinified(v) + (if std.isNumber(v) || std.isBoolean(v) then '; put it in quotes' else ''));

local text(at, v) = if string(at, v) != '' then v else fail(at, 'must not be empty');

local boolean(at, v) =
  if std.isBoolean(v) then v else fail(at, 'must be true or false, not %s' % std.manifestJsonMinified(v));

local strings(at, v) =
  if std.isArray(v) then std.mapWithIndex(function(i, s) string('%s[%d]' % [at, i], s), v)
  else fail(at, 'must be a list of strings, not a ' + std.type(v));

local oneOf(at, v, values) =
  if std.member(values, v) then v
  else fail(at, 'must be %s, not %s' % [std.join(' or ', values), std.manifestJsonMinified(v)]);

local only(s, allowed) = std.all([std.member(allowed, c) for c in std.stringChars(s)]);
local lower = 'abcdefghijklmnopqrstuvwxyz';
local digits = '0123456789';

// name checks the name of an object or, shorter, of a port.
local checkName(at, v, most=63) =
  local ok = std.isString(v) && std.length(v) > 0 && std.length(v) <= most
             && only(v, lower + digits + '-')
             && v[0] != '-' && v[std.length(v) - 1] != '-';
  if ok then v
  else fail(at, 'a name is lower-case letters, digits and \'-\', at most %d, and begins and ends with a letter or digit, not %s' % [most, std.manifestJsonMinified(v)]);

local portRef(at, v) =
  if std.isNumber(v) then whole(at, v, 1, 65535) else checkName(at, v, 15);

local path(at, v) =
  if std.startsWith(string(at, v), '/') then v else fail(at, 'a path begins with /');

local keyRef(at, v) = {
  [k]: object(at, v, ['name', 'key', 'optional'])[k]
  for k in std.objectFields(v)
} + (
  if std.objectHas(v, 'name') && std.objectHas(v, 'key') then {} else fail(at, 'needs a name and a key')
);

local envVar(at, key, v) =
  { name: key } +
  if std.isString(v) then { value: v }
  else if !std.isObject(v) || std.length(v) != 1 then
    fail(at, 'must be a string, or one of {secret: {name, key}}, {configMap: {name, key}} and {field: path}' + (if std.isNumber(v) || std.isBoolean(v) then '; put it in quotes' else ''))
  else if std.objectHas(v, 'secret') then { valueFrom: { secretKeyRef: keyRef(at + '.secret', v.secret) } }
  else if std.objectHas(v, 'configMap') then { valueFrom: { configMapKeyRef: keyRef(at + '.configMap', v.configMap) } }
  else if std.objectHas(v, 'field') then { valueFrom: { fieldRef: { fieldPath: string(at + '.field', v.field) } } }
  else object(at, v, ['secret', 'configMap', 'field']);

local port(at, v) =
  local p = object(at, v, ['port', 'target', 'protocol', 'public', 'nodePort']);
  if !std.objectHas(p, 'port') then fail(at, 'needs a port')
  else {
    port: whole(at + '.port', p.port, 1, 65535),
    target: if std.objectHas(p, 'target') then whole(at + '.target', p.target, 1, 65535) else self.port,
    protocol: if std.objectHas(p, 'protocol') then oneOf(at + '.protocol', p.protocol, ['TCP', 'UDP']) else 'TCP',
    public: if std.objectHas(p, 'public') then boolean(at + '.public', p.public) else false,
    nodePort: if std.objectHas(p, 'nodePort') then whole(at + '.nodePort', p.nodePort, 30000, 32767),
  };

// target takes 'namespace/name:port' apart.
local target(at, v) =
  local parts = std.split(string(at, v), '/');
  local last = std.split(parts[std.length(parts) - 1], ':');
  if std.length(parts) > 2 || std.length(last) != 2 || last[0] == '' || last[1] == ''
     || !only(v, lower + digits + '-/:') || parts[0] == '' then
    fail(at, 'a service is written "name:port" or "namespace/name:port", not "%s"' % v)
  else
    { name: last[0], ports: [last[1]] }
    + (if std.length(parts) == 2 then { namespace: parts[0] } else {});

local dependency(at, v) =
  local d = if std.isString(v) then { service: v } else object(at, v, ['service', 'start']);
  if !std.objectHas(d, 'service') then fail(at, 'needs a service')
  else {
    target: { service: target(at + '.service', d.service) },
  } + (if std.objectHas(d, 'start') then { start: oneOf(at + '.start', d.start, ['none', 'ready']) } else {});

local probeFields = ['http', 'tcp', 'exec', 'period', 'timeout', 'delay', 'failures'];

local get(v, field, default) = if std.objectHas(v, field) then v[field] else default;

// probe makes the API's form of a probe.
local probe(at, v) =
  local http = object(at + '.http', get(v, 'http', {}), ['path', 'port']);
  local tcp = object(at + '.tcp', get(v, 'tcp', {}), ['port']);
  local exec = object(at + '.exec', get(v, 'exec', { command: [] }), ['command']);
  {
    [if std.objectHas(v, 'http') then 'httpGet']: {
      path: path(at + '.http.path', get(http, 'path', '/')),
      port: portRef(at + '.http.port', get(http, 'port', 'http')),
    },
    [if std.objectHas(v, 'tcp') then 'tcpSocket']: { port: portRef(at + '.tcp.port', get(tcp, 'port', 'http')) },
    [if std.objectHas(v, 'exec') then 'exec']: { command: strings(at + '.exec.command', exec.command) },
    [if std.objectHas(v, 'period') then 'periodSeconds']: whole(at + '.period', v.period, 1, 86400),
    [if std.objectHas(v, 'timeout') then 'timeoutSeconds']: whole(at + '.timeout', v.timeout, 1, 86400),
    [if std.objectHas(v, 'delay') then 'initialDelaySeconds']: whole(at + '.delay', v.delay, 0, 86400),
    [if std.objectHas(v, 'failures') then 'failureThreshold']: whole(at + '.failures', v.failures, 1, 1000),
  };

local asks(v) = std.objectHas(v, 'http') || std.objectHas(v, 'tcp') || std.objectHas(v, 'exec');

local quantities(at, v) = {
  [k]: if std.isString(v[k]) || std.isNumber(v[k]) then v[k]
  else fail(at + '.' + k, 'must be a quantity such as "100m" or "128Mi"')
  for k in std.objectFields(object(at, v))
};

local checkResources(at, v) = {
  [k]: quantities(at + '.' + k, object(at, v, ['requests', 'limits'])[k])
  for k in std.objectFields(object(at, v, ['requests', 'limits']))
};

// checked evaluates all of v at once, so that a mistake is reported at the call
// that made it and not wherever v is first looked at.
local checked(v) = if std.manifestJsonMinified(v) != '' then v;

{
  // app describes any number of equal pods, the address they are reached at,
  // and the services they use; what is not among the dependencies cannot be
  // reached. The fields of spec are those of #App in writ.dev/app; a dependency
  // may be written as its service alone.
  app(name, spec)::
    local at = 'app ' + std.toString(name);
    local s = {
      namespace: null,
      replicas: 1,
      command: null,
      args: null,
      env: {},
      ports: {},
      dependencies: {},
      probes: null,
      config: {},
      configDir: null,
      resources: null,
      labels: {},
    } + object(at, spec, [
      'image',
      'namespace',
      'replicas',
      'command',
      'args',
      'env',
      'ports',
      'dependencies',
      'probes',
      'config',
      'configDir',
      'resources',
      'labels',
    ]);
    local appName = checkName(at + '.name', name);
    local portMap = {
      [p]: port(at + '.ports.' + p, s.ports[p])
      for p in std.objectFields(object(at + '.ports', s.ports))
      if checkName(at + '.ports', p, 15) != null
    };
    local portNames = std.objectFields(portMap);
    local envMap = object(at + '.env', s.env);
    local files = { [f]: string(at + '.config.' + f, s.config[f]) for f in std.objectFields(object(at + '.config', s.config)) };
    local hasConfig = std.length(files) > 0;
    local deps = object(at + '.dependencies', s.dependencies);
    local probeMap = if s.probes == null then {} else object(at + '.probes', s.probes, probeFields + ['live']);
    local live = if std.objectHas(probeMap, 'live') then object(at + '.probes.live', probeMap.live, probeFields);
    local selector = { 'app.kubernetes.io/name': appName };
    local allLabels = { [l]: string(at + '.labels.' + l, s.labels[l]) for l in std.objectFields(object(at + '.labels', s.labels)) } + selector;
    local meta(n) = {
      name: n,
      [if s.namespace != null then 'namespace']: checkName(at + '.namespace', s.namespace),
      labels: allLabels,
    };
    checked({
      serviceAccount: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta(appName) },
      deployment: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: meta(appName),
        spec: {
          replicas: whole(at + '.replicas', s.replicas, 0, 1000000),
          selector: { matchLabels: selector },
          template: {
            metadata: {
              labels: allLabels,
              [if hasConfig then 'annotations']: {
                'config-digest': std.sha256(std.join('', std.sort(['%s=%s\n' % [f, files[f]] for f in std.objectFields(files)]))),
              },
            },
            spec: {
              serviceAccountName: appName,
              containers: [{
                name: appName,
                image: text(at + '.image', if std.objectHas(s, 'image') then s.image else fail(at, 'needs an image')),
                [if s.command != null then 'command']: strings(at + '.command', s.command),
                [if s.args != null then 'args']: strings(at + '.args', s.args),
                [if std.length(envMap) > 0 then 'env']: [envVar(at + '.env.' + e, e, envMap[e]) for e in std.objectFields(envMap)],
                [if std.length(portNames) > 0 then 'ports']: [
                  { name: p, containerPort: portMap[p].target, protocol: portMap[p].protocol }
                  for p in portNames
                ],
                [if asks(probeMap) then 'readinessProbe']: probe(at + '.probes', probeMap),
                [if live != null then 'livenessProbe']: probe(at + '.probes.live', live),
                [if hasConfig then 'volumeMounts']: [{
                  name: 'config',
                  mountPath: if s.configDir == null then '/etc/' + appName else path(at + '.configDir', s.configDir),
                  readOnly: true,
                }],
                [if s.resources != null then 'resources']: checkResources(at + '.resources', s.resources),
              }],
              [if hasConfig then 'volumes']: [{ name: 'config', configMap: { name: appName + '-config' } }],
            },
          },
        },
      },
      [if std.length(portNames) > 0 then 'service']: {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: meta(appName),
        spec: {
          [if std.any([portMap[p].public for p in portNames]) then 'type']: 'NodePort',
          selector: selector,
          ports: [
            {
              name: p,
              port: portMap[p].port,
              targetPort: p,
              protocol: portMap[p].protocol,
              [if portMap[p].nodePort != null then 'nodePort']: portMap[p].nodePort,
            }
            for p in portNames
          ],
        },
      },
      [if hasConfig then 'configMap']: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: meta(appName + '-config'),
        data: files,
      },
    } + {
      ['dependency-' + d]: {
        apiVersion: 'writ.dev/v1alpha1',
        kind: 'Dependency',
        metadata: meta(appName + '-' + checkName(at + '.dependencies', d)),
        spec: { consumer: { kind: 'Deployment', name: appName } } + dependency(at + '.dependencies.' + d, deps[d]),
      }
      for d in std.objectFields(deps)
    }),
}
