"""What the pass ``pipeline_dma`` uses: the units of a loop's body, their stages, and slots of buffers."""
