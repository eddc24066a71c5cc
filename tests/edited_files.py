"""Files of a small workspace."""

SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: small, namespace: shop}
spec:
  cpu: {guest: 2}
  memory: {guest: 4Gi}
"""
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  namespace: shop
spec:
  runStrategy: Always
  instancetype:
    kind: VirtualMachineInstancetype
    name: small
  preference:
    name: fedora
  template:
    spec:
      domain:
        devices:
          disks:
            - name: root
              disk: {bus: virtio}
          interfaces:
            - name: default
              masquerade: {}
      networks:
        - name: default
          pod: {}
      volumes:
        - name: root
          containerDisk: {image: example.com/fedora}
"""

WRONG = VM.replace("runStrategy: Always", "runStrategy: always")
