// Writ's standard library for Jsonnet: turns short descriptions of applications
// into their documents. The same in CUE is writ.dev/app, and gives equal
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
// The result of a function has a field for each document, such as deployment or
// dependency-NAME: what the spec cannot say is added to them with +:. The fields
// of each spec are those of the definition of that name in CUE.

local c = import 'writ/check.libsonnet';
local probe = import 'writ/probe.libsonnet';
local service = import 'writ/service.libsonnet';
local workload = import 'writ/workload.libsonnet';

// checked is documents whose spec is looked at as a whole before any of them is
// there, so that a mistake is reported at the call that made it. What is hidden
// can be had before: two apps may use each other's address.
local checked(spec, documents) =
  std.mapWithKey(function(_, d) c.all(spec, d), documents);

// replicated makes a Deployment of pods that listen on ports.
local replicated(at, name, s, ports) =
  local named = c.name(at + '.name', name);
  workload.of('Deployment', named, s, {
    [if std.length(ports) > 0 then 'ports']: [
      { name: p, containerPort: ports[p].target, protocol: ports[p].protocol }
      for p in std.objectFields(ports)
    ],
  } + probe.container(service.get(s, 'probes', {}))) {
    documents+:: {
      deployment: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: $.meta(named),
        spec: {
          replicas: s.replicas,
          selector: { matchLabels: $.selector },
          template: $.template,
        },
      },
    },
  };

local deploymentFields(ports) = workload.fields { replicas: c.count, probes: probe.check(std.objectFields(ports)) };

local taskDefaults = { retries: 3, restart: 'Never' };
local taskFields = workload.fields {
  retries: c.count,
  timeout: c.positive,
  completions: c.positive,
  parallelism: c.positive,
  restart: c.oneOf(['Never', 'OnFailure']),
};

// task is the spec of a job.
local task(s, template) = {
  backoffLimit: s.retries,
  [if std.objectHas(s, 'timeout') then 'activeDeadlineSeconds']: s.timeout,
  [if std.objectHas(s, 'completions') then 'completions']: s.completions,
  [if std.objectHas(s, 'parallelism') then 'parallelism']: s.parallelism,
  template: template { spec+: { restartPolicy: s.restart } },
};

{
  // app is a service: any number of equal pods, the address they are reached at,
  // and the services they use. What is not among the dependencies cannot be
  // reached. The result's hidden field address is how others name each port in
  // their dependencies: service: web.address.http
  app(name, spec)::
    local at = 'app ' + std.toString(name);
    local ports = c.map(c.portName, service.port)(at + '.ports', service.get(c.object(at, spec), 'ports', {}));
    local s = { replicas: 1 } + c.record(deploymentFields(ports) { ports(at, v): ports }, ['image'])(at, spec);
    local w = replicated(at, name, s, ports);
    { address:: service.addresses(name, service.get(s, 'namespace', null), ports) }
    + checked(s, w.documents {
      [if std.length(ports) > 0 then 'service']: service.service(w.meta(name), w.selector, ports, function(p) p),
    }),

  // worker is any number of equal pods that nobody calls: an app without ports.
  worker(name, spec)::
    local at = 'worker ' + std.toString(name);
    local s = { replicas: 1 } + c.record(deploymentFields({}), ['image'])(at, spec);
    checked(s, replicated(at, name, s, {}).documents),

  // job runs pods until they have succeeded.
  job(name, spec)::
    local at = 'job ' + std.toString(name);
    local s = taskDefaults + c.record(taskFields, ['image'])(at, spec);
    local named = c.name(at + '.name', name);
    local w = workload.of('Job', named, s);
    checked(s, w.documents {
      job: { apiVersion: 'batch/v1', kind: 'Job', metadata: w.meta(named), spec: task(s, w.template) },
    }),

  // cronJob runs a job again and again.
  cronJob(name, spec)::
    local at = 'cronJob ' + std.toString(name);
    local s = taskDefaults { concurrency: 'Forbid', suspend: false } + c.record(taskFields {
      schedule: c.schedule,
      timeZone: c.timeZone,
      concurrency: c.oneOf(['Forbid', 'Allow', 'Replace']),
      startingDeadline: c.positive,
      suspend: c.boolean,
      keep: c.record({ succeeded: c.count, failed: c.count }),
    }, ['image', 'schedule'])(at, spec);
    local named = c.cronJobName(at + '.name', name);
    local w = workload.of('CronJob', named, s);
    local keep = service.get(s, 'keep', {});
    checked(s, w.documents {
      cronJob: {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: w.meta(named),
        spec: {
          schedule: s.schedule,
          [if std.objectHas(s, 'timeZone') then 'timeZone']: s.timeZone,
          concurrencyPolicy: s.concurrency,
          [if std.objectHas(s, 'startingDeadline') then 'startingDeadlineSeconds']: s.startingDeadline,
          [if s.suspend then 'suspend']: true,
          [if std.objectHas(keep, 'succeeded') then 'successfulJobsHistoryLimit']: keep.succeeded,
          [if std.objectHas(keep, 'failed') then 'failedJobsHistoryLimit']: keep.failed,
          jobTemplate: { metadata: { labels: w.labels }, spec: task(s, w.template) },
        },
      },
    }),

  // config is a ConfigMap that several workloads share. One that is a single
  // workload's is its config. The result's hidden field ref is what env takes,
  // for each key of data: env: { LEVEL: settings.ref.LEVEL }
  config(name, spec)::
    local at = 'config ' + std.toString(name);
    local s = c.record({ namespace: c.name, data: c.map(c.fileName, c.string), labels: c.map(function(_, l) l, c.string) })(at, spec);
    local data = service.get(s, 'data', {});
    local labels = service.get(s, 'labels', {});
    local named = c.name(at + '.name', name);
    { ref:: { [k]: { configMap: { name: named, key: k } } for k in std.objectFields(data) } }
    + checked(s, {
      configMap: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: named,
          [if std.objectHas(s, 'namespace') then 'namespace']: s.namespace,
          [if std.length(labels) > 0 then 'labels']: labels,
        },
        data: data,
      },
    }),

  // secret says which keys a Secret has. It holds no values and makes no
  // document: those who deploy create the Secret, and sources only refer to it.
  // The result's field ref is what env takes, for each key:
  // env: { PASSWORD: db.ref.password }
  secret(name, keys)::
    local at = 'secret ' + std.toString(name);
    local named = c.objectName(at + '.name', name);
    local checkedKeys = c.list(c.fileName)(at + '.keys', keys);
    if std.length(std.set(checkedKeys)) != std.length(checkedKeys) then c.fail(at + '.keys', 'has a key twice')
    else { ref: { [k]: { secret: { name: named, key: k } } for k in checkedKeys } },

  // service gives a workload that the library does not make an address and
  // dependencies. The result's hidden field address is as that of an app.
  service(name, spec)::
    local at = 'service ' + std.toString(name);
    local s = c.record({
      namespace: c.name,
      workload: c.record({ kind: c.oneOf(['Deployment', 'ReplicaSet', 'Job', 'CronJob', 'Pod']), name: c.objectName }),
      selector: c.map(function(_, l) l, c.string),
      ports: c.map(c.portName, service.port),
      headless: c.boolean,
      dependencies: c.map(c.name, service.dependency),
      labels: c.map(function(_, l) l, c.string),
    })(at, spec);
    local named = c.name(at + '.name', name);
    local ports = service.get(s, 'ports', {});
    local selector = service.get(s, 'selector', {});
    local labels = service.get(s, 'labels', {});
    local meta(n) = {
      name: n,
      [if std.objectHas(s, 'namespace') then 'namespace']: s.namespace,
      [if std.length(labels) > 0 then 'labels']: labels,
    };
    if std.length(ports) + std.length(service.get(s, 'dependencies', {})) == 0 then c.fail(at, 'needs ports or dependencies')
    else { address:: service.addresses(named, service.get(s, 'namespace', null), ports) }
         + checked(s, {
           [if std.length(ports) > 0 then 'service']:
             if std.length(selector) == 0 then c.fail(at, 'ports need a selector: the labels of the pods that serve')
             else service.service(meta(named), selector, ports, function(p) ports[p].target, service.get(s, 'headless', false)),
         } + service.edges(
           { kind: 'Deployment', name: named } + service.get(s, 'workload', {}),
           named,
           meta,
           service.get(s, 'dependencies', {}),
         )),

  // environment picks the settings of one environment. all are the settings with
  // the values that hold unless an environment has others; of are the
  // environments and what is different in each. A field takes the place of the
  // one in all as a whole, and there must be one.
  environment(name, all, of)::
    local unknown = [
      'of.%s.%s' % [e, k]
      for e in std.objectFields(c.map(c.name, c.object)('of', of))
      for k in std.objectFields(of[e])
      if !std.objectHas(c.object('all', all), k)
    ];
    if unknown != [] then c.fail(unknown[0], 'is not among all: ' + std.join(', ', std.objectFields(all)))
    else if !std.isString(name) || !std.objectHas(of, name) then
      c.fail('environment', 'there is no environment %s; there are: %s' % [std.toString(name), std.join(', ', std.objectFields(of))])
    else all + of[name],
}
