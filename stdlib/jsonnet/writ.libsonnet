{ app(name):: {} }
