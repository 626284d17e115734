// Ports and dependencies.

local c = import 'check.libsonnet';

local get(v, field, default) = if std.objectHas(v, field) then v[field] else default;

{
  port(at, v)::
    local p = c.record({
      port: c.whole(1, 65535),
      target: c.whole(1, 65535),
      protocol: c.oneOf(['TCP', 'UDP']),
      public: c.boolean,
      nodePort: c.whole(30000, 32767),
    }, ['port'])(at, v);
    { target: p.port, protocol: 'TCP', public: false } + p,

  dependency:: c.record({ service: c.servicePort, start: c.oneOf(['none', 'ready']) }, ['service']),

  // addresses is how others name each of the ports in their dependencies.
  addresses(name, namespace, ports):: {
    [p]: (if namespace == null then '' else namespace + '/') + name + ':' + p
    for p in std.objectFields(ports)
  },

  // service makes the Service of ports; target says where each of them leads.
  service(meta, selector, ports, target, headless=false):: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: meta,
    spec: {
      [if std.any([ports[p].public for p in std.objectFields(ports)]) then 'type']: 'NodePort',
      [if headless then 'clusterIP']: 'None',
      selector: selector,
      ports: [
        {
          name: p,
          port: ports[p].port,
          targetPort: target(p),
          protocol: ports[p].protocol,
          [if std.objectHas(ports[p], 'nodePort') then 'nodePort']: ports[p].nodePort,
        }
        for p in std.objectFields(ports)
      ],
    },
  },

  // edges makes the Dependency documents of a consumer.
  edges(consumer, prefix, meta, uses):: {
    ['dependency-' + d]:
      local parts = std.split(uses[d].service, '/');
      local last = std.split(parts[std.length(parts) - 1], ':');
      {
        apiVersion: 'writ.dev/v1alpha1',
        kind: 'Dependency',
        metadata: meta(prefix + '-' + d),
        spec: {
          consumer: consumer,
          target: {
            service: {
              [if std.length(parts) == 2 then 'namespace']: parts[0],
              name: last[0],
              ports: [last[1]],
            },
          },
          [if std.objectHas(uses[d], 'start') then 'start']: uses[d].start,
        },
      }
    for d in std.objectFields(uses)
  },

  get:: get,
}
