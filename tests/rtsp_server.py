"""Run by the system's Python: an RTSP camera that sends a Matroska file of H.264.

`python3 tests/rtsp_server.py FILE PORT [USER PASSWORD]`
"""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

file, port, *credentials = sys.argv[1:]
Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(port)
factory = GstRtspServer.RTSPMediaFactory()
# Parameter sets go only into the SDP: rtph264pay would repeat them before each slice, which splits a picture
factory.set_launch(f"( filesrc location={file} ! matroskademux ! h264parse ! rtph264pay name=pay0 )")
if credentials:
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "user")
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(*credentials), token)
    server.set_auth(auth)
    permissions = GstRtspServer.RTSPPermissions()
    permissions.add_permission_for_role("user", "media.factory.access", True)
    permissions.add_permission_for_role("user", "media.factory.construct", True)
    factory.set_permissions(permissions)
server.get_mount_points().add_factory("/cam", factory)
if not server.attach(None):
    sys.exit(f"port {port} is taken")
sys.stdout.write("listening\n")
sys.stdout.flush()
GLib.MainLoop().run()
