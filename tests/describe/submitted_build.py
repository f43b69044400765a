"""What a submitter writes for the server of `describe_build.gpu_server`."""

from __future__ import annotations

TOP = """\
division: standardized
system_name: Example 8x H100
system_availability_status: available
availability_url: https://vendor.example/h100
max_supported_concurrency: 1024
endpoint_url: https://llm.vendor.example/v1
serving_framework: vLLM 0.11.0
node_config: one engine on all accelerators
disaggregated: false
tensor_parallel: 8
pipeline_parallel: 1
expert_parallel: 1
data_parallel: 1
batch: 256
"""
NODE = """\
cooling: air only
inference_backend: vLLM with FlashAttention 3
container_link: https://vendor.example/image
"""
COMPLETE = TOP + NODE
